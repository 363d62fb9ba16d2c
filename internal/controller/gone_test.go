package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Whether an object is gone is the word of the server that has its kind. The 404 of one
// that hasn't, which client-go makes a NotFound too, must neither fail nor release what
// is held.
func TestAKindThatIsNotServedSaysNothingOfItsObjects(t *testing.T) {
	served := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !served {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		status := apierrors.NewNotFound(v1alpha1.Resource("computecontracts"), "infra-web-front").Status()
		status.Kind, status.APIVersion = "Status", "v1"
		_ = json.NewEncoder(w).Encode(status)
	}))
	defer s.Close()
	clients, err := newClients(&rest.Config{Host: s.URL}, false)
	if err != nil {
		t.Fatal(err)
	}
	api := &calls{clients, clients}
	ask := func() (contract, deployment error) {
		_, contract = api.Contract(t.Context(), "default", "infra-web-front")
		_, deployment = api.Deployment(t.Context(), Key{lifecycle.KindInfra, "default", "web"})
		return contract, deployment
	}
	if contract, deployment := ask(); !isGone(contract) || !isGone(deployment) {
		t.Errorf("the server's own word doesn't count: %v, %v", contract, deployment)
	}
	served = false
	contract, deployment := ask()
	if !apierrors.IsNotFound(contract) || !apierrors.IsNotFound(deployment) {
		t.Errorf("not the error that this is about: %v, %v", contract, deployment)
	}
	if isGone(contract) || isGone(deployment) || ignoreGone(contract) == nil {
		t.Errorf("a kind that isn't served counts as an object that is gone: %v", contract)
	}
}
