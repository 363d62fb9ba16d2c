package repostore

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// unknown makes the next write of the repository one whose answer is lost, and the
// PDS unreachable from then on.
func (r *replica) unknown(f memFault) {
	var once bool
	r.repo.hook = func(_ context.Context, call string, _ atproto.Key) memFault {
		switch {
		case (call == "put" || call == "delete") && !once:
			once = true
			return f
		case once:
			return memFault{err: atproto.ErrUnavailable}
		}
		return memFault{}
	}
}

// back ends the outage.
func (r *replica) back() { r.repo.hook = nil }

// noPause fails the test if what f does waits.
func (r *replica) noPause(f func()) {
	r.t.Helper()
	r.gates.mu.Lock()
	before := r.gates.seen["pause"]
	r.gates.mu.Unlock()
	f()
	r.gates.mu.Lock()
	defer r.gates.mu.Unlock()
	if n := r.gates.seen["pause"] - before; n > 0 {
		r.t.Errorf("it waited %d times", n)
	}
}

// A controller records a status while the outcome of a put is unknown and the PDS
// is away, and loses it neither when the put is found to stand nor when it is not.
func TestPrivateWritesUnderAnUnknownOutcome(t *testing.T) {
	for name, f := range map[string]memFault{"the put stands": {lost: true}, "it never came": {late: true}} {
		t.Run(name, func(t *testing.T) {
			r := alone(t)
			r.unknown(f)
			if _, err := r.update(r.ctx(), "o", "", func(w *widget) error {
				setLabel(w, "w1")
				w.Spec.Text = "new"
				w.Finalizers = []string{"test/first"}
				w.Status.Conditions = []metav1.Condition{{Type: "First", Status: "True"}}
				return nil
			}); !apierrors.IsTimeout(err) {
				t.Fatalf("the put: %v, want a timeout", err)
			}
			r.noPause(func() {
				for _, change := range []func(*widget) error{
					func(w *widget) error {
						w.Status.Phase = "Held"
						meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: "Second", Status: "True"})
						return nil
					},
					func(w *widget) error { setLabel(w, "w2"); w.Spec.Secret = "s"; return nil },
					func(w *widget) error { w.Finalizers = append(w.Finalizers, "test/second"); return nil },
					func(w *widget) error { w.Status.Phase = "Released"; return nil },
				} {
					if _, err := r.update(r.ctx(), "o", "", change); err != nil {
						t.Fatalf("a private write: %v", err)
					}
				}
			})
			if obj, _ := r.shown("o"); obj.Status.Phase != "Released" || obj.Spec.Text != "base" || !hasLabels(obj, "w2") || hasLabels(obj, "w1") {
				t.Errorf("meanwhile: %+v", obj)
			}
			r.back()
			r.clock.jump(time.Hour)
			r.hub.sweep(r.ctx(), atOnce)
			obj, _ := converged(t, "o", r)
			if obj.Status.Phase != "Released" || obj.Spec.Secret != "s" || !hasLabels(obj, "w2") ||
				meta.FindStatusCondition(obj.Status.Conditions, "Second") == nil || !strings.Contains(strings.Join(obj.Finalizers, " "), "test/second") {
				t.Errorf("a private write is lost: %+v", obj)
			}
			generation := int64(2) // of the secret
			if f.lost {
				generation++
				if obj.Spec.Text != "new" || !hasLabels(obj, "w1") || len(obj.Finalizers) != 2 || meta.FindStatusCondition(obj.Status.Conditions, "First") == nil {
					t.Errorf("the put's private part is lost: %+v", obj)
				}
			} else if obj.Spec.Text != "base" || hasLabels(obj, "w1") {
				t.Errorf("a put that never came shows: %+v", obj)
			}
			if obj.Generation != generation {
				t.Errorf("generation %d, want %d", obj.Generation, generation)
			}
			r.publish(t)
			checkInSync(t, r, "Released")
		})
	}
}

// A declaration can't change while the outcome of another change is unknown, and a
// no-op write answers.
func TestPublicWriteUnderAnUnknownOutcome(t *testing.T) {
	r := alone(t)
	r.unknown(memFault{lost: true})
	if _, err := r.update(r.ctx(), "o", "", public("new", "w1")); !apierrors.IsTimeout(err) {
		t.Fatal(err)
	}
	r.clock.jump(r.hub.putTimeout + time.Second)
	if _, err := r.update(r.ctx(), "o", "", public("newer", "w2")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a public write: %v", err)
	}
	if err := r.store.publishOne(r.ctx(), r.ref("o")); err == nil {
		t.Error("the publisher wrote under an open intent")
	}
	r.noPause(func() {
		if _, err := r.update(r.ctx(), "o", "", func(*widget) error { return nil }); err != nil {
			t.Errorf("no change at all: %v", err)
		}
	})
}

// S1 and S2 with an owner that sleeps beyond its term: what joined its intent
// meanwhile stays, and an owner that demanded a version isn't acknowledged over
// another.
func TestOwnerThatWakesAfterAPrivateWriteJoined(t *testing.T) {
	for name, demand := range map[string]bool{"with a resourceVersion": true, "without": false} {
		for _, point := range []string{"update.before-put", "update.before-view"} {
			t.Run(name+", at "+point, func(t *testing.T) {
				a, b, obj := begin(t)
				rv := ""
				if demand {
					rv = obj.ResourceVersion
				}
				gate := a.gates.stop(point)
				w1 := start(func() (*widget, error) {
					return a.update(a.ctx(), "o", rv, func(w *widget) error {
						w.Spec.Text, w.Spec.Secret = "new", "w1"
						setLabel(w, "w1")
						return nil
					})
				})
				gate.reached(t)
				a.clock.jump(time.Hour)
				b.noPause(func() {
					if _, err := b.update(b.ctx(), "o", "", func(w *widget) error { setLabel(w, "w2"); w.Spec.Secret = "w2"; return nil }); err != nil {
						t.Fatal(err)
					}
				})
				if point == "update.before-view" { // and is rolled forward before it wakes
					b.hub.sweep(b.ctx(), atOnce)
				}
				gate.release()
				r := ended(t, "the owner", w1)
				if demand && !apierrors.IsTimeout(r.err) || !demand && r.err != nil {
					t.Errorf("the owner: %v", r.err)
				}
				after, _ := converged(t, "o", a, b)
				secret := "w1" // written last
				if demand {
					secret = "w2"
				}
				if !hasLabels(after, "w1", "w2") || after.Spec.Secret != secret {
					t.Errorf("labels %v, secret %q", after.Labels, after.Spec.Secret)
				}
			})
		}
	}
}

// Under a deletion whose outcome is unknown a status can be written; a finalizer,
// which the deletion would have had to heed, can't be added.
func TestPrivateWritesUnderADeletion(t *testing.T) {
	for name, f := range map[string]memFault{"the deletion stands": {lost: true}, "it never came": {late: true}} {
		t.Run(name, func(t *testing.T) {
			r := alone(t)
			r.unknown(f)
			if err := r.delete(r.ctx(), "o"); !apierrors.IsTimeout(err) {
				t.Fatal(err)
			}
			if err := r.setPhase(r.ctx(), "o", "Released"); err != nil {
				t.Fatal(err)
			}
			r.clock.jump(time.Hour)
			if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Finalizers = []string{"test/late"}; return nil }); !apierrors.IsServiceUnavailable(err) {
				t.Errorf("a finalizer: %v", err)
			}
			r.back()
			r.hub.sweep(r.ctx(), atOnce)
			if obj, _ := converged(t, "o", r); (obj == nil) != f.lost || obj != nil && obj.Status.Phase != "Released" {
				t.Errorf("afterwards: %+v", obj)
			}
		})
	}
}

// A deletion that demanded a version isn't acknowledged over another.
func TestDeletionThatWakesAfterAPrivateWriteJoined(t *testing.T) {
	a, b, obj := begin(t)
	gate := a.gates.stop("delete.before-view")
	w1 := start(func() (*widget, error) { return nil, a.deleteAt(a.ctx(), "o", obj.ResourceVersion) })
	gate.reached(t)
	a.clock.jump(time.Hour)
	if _, err := b.label(b.ctx(), "o", "w2"); err != nil {
		t.Fatal(err)
	}
	gate.release()
	if r := ended(t, "the deletion", w1); !apierrors.IsTimeout(r.err) {
		t.Errorf("the deletion: %v", r.err)
	}
	converged(t, "o", a, b)
}
