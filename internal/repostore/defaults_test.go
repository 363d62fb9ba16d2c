package repostore

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// While the default AtprotoRepo is there and not mounted, no object is created
// without the record that it should have.
func TestDefaultThatIsNotMountedYet(t *testing.T) {
	r := alone(t)
	r.hub.ExpectDefault(r.ws, testRepo, true)
	if w, err := r.create(r.ctx(), aWidget("a", "x")); err != nil || w.Spec.Record.Repo != testRepo {
		t.Errorf("with the default: %+v, %v", w.Spec.Record, err)
	}
	r.hub.RemoveRepo(r.ws, testRepo)
	if w, err := r.create(r.ctx(), aWidget("b", "x")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("without it: %+v, %v", w, err)
	}
	r.hub.ExpectDefault(r.ws, testRepo, false)
	if w, err := r.create(r.ctx(), aWidget("b", "x")); err != nil || w.Spec.Record.Repo != "" {
		t.Errorf("in a workspace without a default: %+v, %v", w, err)
	}
}
