package servingcert

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// A replica that another overtakes between any two of its reads doesn't put old
// authorities back into the caBundle, and trusts the new ones after one look.
func TestSlowReplicaPutsNothingBack(t *testing.T) {
	old := fresh(t, epoch)
	lost := old
	lost.signer = nil
	renewed, _ := mustPlan(t, lost, epoch, names, true)
	for overtaken := 1; overtaken <= 2; overtaken++ {
		c := newCluster(t, newAPIService(nil))
		r, err := New(Config{
			Client: c.client, Namespace: "infra", Name: "serving", DNSNames: names, Clock: c.clock,
			APIServices: c.dynamic.Resource(APIServices), APIService: apiService,
		})
		if err != nil {
			t.Fatal(err)
		}
		// Somebody reset the bundle: the slow replica has something to write.
		secret, service := stored(t, old, "1"), newAPIService(nil)
		service.SetResourceVersion("1")
		if err := c.client.Tracker().Add(secret); err != nil {
			t.Fatal(err)
		}
		reads := 0
		read := func(now func() runtime.Object) clienttesting.ReactionFunc {
			return func(clienttesting.Action) (bool, runtime.Object, error) {
				seen := now().DeepCopyObject()
				if reads++; reads == overtaken {
					secret, service = stored(t, renewed, "2"), trusting(t, renewed, "2")
				}
				return true, seen, nil
			}
		}
		c.client.PrependReactor("get", "secrets", read(func() runtime.Object { return secret }))
		c.dynamic.PrependReactor("get", "apiservices", read(func() runtime.Object { return service }))
		c.dynamic.PrependReactor("patch", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			var patch unstructured.Unstructured
			if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &patch.Object); err != nil {
				return true, nil, err
			}
			if patch.GetResourceVersion() != service.GetResourceVersion() {
				return true, nil, apierrors.NewConflict(APIServices.GroupResource(), apiService, errors.New("others were faster"))
			}
			service = service.DeepCopy()
			service.SetResourceVersion("3")
			service.Object["spec"].(map[string]any)["caBundle"] = patch.Object["spec"].(map[string]any)["caBundle"]
			return true, service, nil
		})
		if err := r.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		want, err := renewed.bundle()
		if err != nil {
			t.Fatal(err)
		}
		if c.bundle(t) != string(want) {
			t.Errorf("overtaken after read %d: the old authorities are back", overtaken)
		}
	}
}

// stored is a Secret that holds s.
func stored(t *testing.T, s state, version string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "serving", ResourceVersion: version}, Type: corev1.SecretTypeTLS}
	if err := s.encodeInto(secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// trusting is an APIService that trusts the authorities of s.
func trusting(t *testing.T, s state, version string) *unstructured.Unstructured {
	t.Helper()
	bundle, err := s.bundle()
	if err != nil {
		t.Fatal(err)
	}
	u := newAPIService(nil)
	u.SetResourceVersion(version)
	u.Object["spec"].(map[string]any)["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
	return u
}
