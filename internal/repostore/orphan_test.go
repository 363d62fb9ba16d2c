package repostore

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

const holder = "test/hold"

// held makes a replica with an object that a finalizer holds.
func held(t *testing.T) *replica {
	t.Helper()
	r := newWorld(t).replica("A")
	obj := aWidget("o", "base")
	obj.Finalizers = []string{holder}
	if _, err := r.create(r.ctx(), obj); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	return r
}

// letGo removes the finalizers, and the object then, as the registry does.
func letGo(t *testing.T, r *replica) {
	t.Helper()
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Finalizers = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
}

// A record deleted elsewhere leaves an object that terminates, with its
// declaration frozen; its deletion then asks no PDS.
func TestDeletedElsewhereWithFinalizers(t *testing.T) {
	r := held(t)
	r.repo.foreign(recordKey("o"), nil)
	obj, err := r.get(r.ctx(), "o")
	if err != nil || obj.DeletionTimestamp == nil || obj.Generation != 2 || obj.Spec.Text != "base" {
		t.Fatalf("%+v, %v", obj, err)
	}
	if _, err := r.update(r.ctx(), "o", "", public("try", "l")); !apierrors.IsConflict(err) {
		t.Errorf("a change of the frozen declaration: %v", err)
	}
	if _, err := r.label(r.ctx(), "o", "private"); err != nil {
		t.Errorf("a private change: %v", err)
	}
	if err := r.setPhase(r.ctx(), "o", "Releasing"); err != nil {
		t.Errorf("a status: %v", err)
	}
	r.publish(t)
	r.repo.setDown(atproto.ErrUnavailable)
	if obj, err := r.get(r.ctx(), "o"); err != nil || !hasLabels(obj, "private") {
		t.Errorf("a GET asks the PDS for a record that is gone: %v", err)
	}
	commits := r.repo.commits()
	letGo(t, r)
	r.repo.setDown(nil)
	if n := r.repo.commits(); n != commits {
		t.Errorf("%d commits", n-commits)
	}
	if obj, _ := converged(t, "o", r); obj != nil {
		t.Errorf("left: %+v", obj)
	}
}

// A record that is re-created while the old object terminates survives, and is
// served as a new object afterwards; also by the next start, if this process
// ends in between.
func TestRecreatedWhileTerminating(t *testing.T) {
	for _, crash := range []bool{false, true} {
		r := held(t)
		r.repo.foreign(recordKey("o"), nil)
		r.deliverAll()
		r.repo.foreign(recordKey("o"), widgetRecord("again"))
		r.deliverAll()
		if obj, err := r.get(r.ctx(), "o"); err != nil || obj.UID != "uid-o" || obj.Spec.Text != "base" {
			t.Fatalf("meanwhile: %+v, %v", obj, err)
		}
		next := r
		if crash {
			r.hub.failpoint = func(point string) bool {
				if point == "delete.private.before-ingest" {
					panic(point)
				}
				return false
			}
			func() {
				defer func() { _ = recover() }()
				letGo(t, r)
			}()
			next = r.world.replica("B")
			if all, err := next.list(next.ctx()); err != nil || all["o"] == nil {
				t.Fatalf("the next start lists %v, %v", all, err)
			}
		} else {
			letGo(t, r)
		}
		obj, _ := next.shown("o")
		if obj == nil || obj.UID == "uid-o" || obj.Spec.Text != "again" || obj.DeletionTimestamp != nil {
			t.Errorf("crash %v: served as %+v", crash, obj)
		}
		converged(t, "o", next)
	}
}

// An edit made while the object terminates is ingested, and the record is deleted
// last, whatever it was last.
func TestEditedWhileTerminating(t *testing.T) {
	r := held(t)
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error {
		now := metav1.NewTime(time.Now())
		w.DeletionTimestamp = &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r.repo.foreign(recordKey("o"), widgetRecord("edited"))
	r.deliverAll()
	if obj, _ := r.shown("o"); obj.Spec.Text != "edited" || obj.DeletionTimestamp == nil {
		t.Errorf("%+v", obj)
	}
	r.repo.foreign(recordKey("o"), widgetRecord("edited unseen"))
	letGo(t, r)
	if rec := r.repo.value(recordKey("o")); rec != nil {
		t.Errorf("the record is left: %v", rec)
	}
	if obj, _ := converged(t, "o", r); obj != nil {
		t.Errorf("left: %+v", obj)
	}
}

// Without finalizers the object goes with its record, and a record that comes
// again is another object.
func TestDeletedAndRecreatedElsewhere(t *testing.T) {
	r := alone(t)
	r.repo.foreign(recordKey("o"), nil)
	if _, err := r.get(r.ctx(), "o"); !storage.IsNotFound(err) {
		t.Fatalf("GET: %v", err)
	}
	r.repo.foreign(recordKey("o"), widgetRecord("base"))
	obj, err := r.get(r.ctx(), "o")
	if err != nil || obj.UID == "uid-o" || obj.Generation != 1 {
		t.Errorf("%+v, %v", obj, err)
	}
	converged(t, "o", r)
}
