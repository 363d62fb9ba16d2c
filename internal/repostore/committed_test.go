package repostore

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// An update whose put stands, and whose owner can't find it any more among what others
// have written since, is never answered 409, however often it loses when it applies its
// private part again (S2).
func TestContendedAfterItsPutStands(t *testing.T) {
	a, b, _ := begin(t)
	stands, lost := false, 0
	a.hub.failpoint = func(point string) bool {
		switch {
		case point == "update.before-view" && !stands:
			stands = true
			for i := range earlierNonces + 1 { // the first settles it
				if _, err := b.update(b.ctx(), "o", "", public(fmt.Sprint("later", i), "later")); err != nil {
					t.Error(err)
				}
			}
		case point == "update.before-intent" && stands:
			lost++
			if _, err := b.label(b.ctx(), "o", fmt.Sprint("lost", lost)); err != nil {
				t.Error(err)
			}
		}
		return a.gates.step(point)
	}
	if _, err := a.update(a.ctx(), "o", "", public("new", "w1")); !apierrors.IsTimeout(err) {
		t.Errorf("after %d tries: %v, want a timeout", lost, err)
	}
	if lost != attempts-1 {
		t.Errorf("it lost %d times", lost)
	}
	if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1") {
		t.Errorf("labels %v: its put did not stand", obj.Labels)
	}
}
