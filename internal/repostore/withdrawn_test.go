package repostore

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A repository whose access is withdrawn is asked nothing, not even what became of
// a write in flight: that ends with its term, and is recognized when access comes
// back.
func TestWithdrawnAccessUnderAnOpenIntent(t *testing.T) {
	for name, f := range map[string]memFault{"the put stands": {lost: true}, "it comes late": {late: true}} {
		t.Run(name, func(t *testing.T) {
			r := alone(t)
			r.unknown(f)
			if _, err := r.update(r.ctx(), "o", "", public("new", "w1")); !apierrors.IsTimeout(err) {
				t.Fatal(err)
			}
			if _, err := r.create(r.ctx(), aWidget("p", "x")); err == nil {
				t.Fatal("created during an outage")
			}
			r.back()
			r.mount(AccessNone)
			r.repo.resetCounts()
			r.hub.sweep(r.ctx(), atOnce)
			if left := r.keysBelow("intents"); len(left) != 1 {
				t.Errorf("intents before the term: %q", left)
			}
			if err := r.setPhase(r.ctx(), "o", "Held"); err != nil {
				t.Error(err)
			}
			r.clock.jump(time.Hour)
			if _, err := r.update(r.ctx(), "o", "", public("newer", "w2")); !apierrors.IsForbidden(err) {
				t.Errorf("a public write: %v", err)
			}
			r.hub.sweep(r.ctx(), atOnce)
			if left := r.keysBelow("intents"); len(left) > 0 {
				t.Errorf("intents after the term: %q", left)
			}
			if err := r.delete(r.ctx(), "o"); !apierrors.IsForbidden(err) {
				t.Errorf("a deletion: %v", err)
			}
			if obj, err := r.get(r.ctx(), "o"); err != nil || obj.Spec.Text != "base" {
				t.Errorf("%+v, %v", obj, err)
			}
			r.repo.mu.Lock()
			if len(r.repo.calls) > 0 {
				t.Errorf("the PDS was asked: %v", r.repo.calls)
			}
			r.repo.mu.Unlock()
			r.repo.land()
			r.mount(AccessReadWrite)
			obj, _ := converged(t, "o", r)
			if obj.Spec.Text != "new" || !hasLabels(obj, "w1") || hasLabels(obj, "w2") || obj.Status.Phase != "Held" {
				t.Errorf("after access came back: %+v", obj)
			}
		})
	}
}
