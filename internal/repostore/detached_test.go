package repostore

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func unbind(w *widget) error {
	w.Spec.Record = widgetBinding{}
	return nil
}

// checkQuiet demands that a record which is detached doesn't come back: not by
// events, not by a comparison, not by a restart, not by losing the views.
func checkQuiet(t *testing.T, r *replica, name string, quiet func(what string, r *replica)) {
	t.Helper()
	quiet("at once", r)
	r.repo.foreign(recordKey(name), widgetRecord("edited"))
	r.deliverAll()
	quiet("after an event", r)
	if _, err := r.list(r.ctx()); err != nil {
		t.Fatal(err)
	}
	quiet("after a list", r)
	again := r.replica(r.name + "again")
	if _, err := again.list(again.ctx()); err != nil {
		t.Fatal(err)
	}
	quiet("after a restart", again)
}

// An object whose binding is removed lives on privately; its record stays, and is
// served no more until it is bound again.
func TestUnboundRecordStaysDetached(t *testing.T) {
	r := alone(t)
	obj, err := r.update(r.ctx(), "o", "", unbind)
	if err != nil {
		t.Fatal(err)
	}
	if obj.Status.Record != nil || r.repo.value(recordKey("o")) == nil {
		t.Errorf("unbound: status.record %+v, record %v", obj.Status.Record, r.repo.value(recordKey("o")))
	}
	checkQuiet(t, r, "o", func(what string, r *replica) {
		if got, st := r.shown("o"); got == nil || got.Spec.Text != "base" || st.bound() {
			t.Errorf("%s: the private object is %+v with stamp %+v", what, got, st)
		}
	})
	commits := r.repo.commits()
	if _, err := r.update(r.ctx(), "o", "", public("private", "l")); err != nil {
		t.Errorf("a change of the private object: %v", err)
	}
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Spec.Record.Repo = testRepo; return nil }); !apierrors.IsInvalid(err) {
		t.Errorf("binding anew without the uri of the record that exists: %v", err)
	}
	if n := r.repo.commits(); n != commits {
		t.Errorf("a private object made %d commits", n-commits)
	}
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error {
		w.Spec.Record = widgetBinding{Repo: testRepo, URI: recordURIOf("o")}
		return nil
	}); err != nil {
		t.Fatalf("binding it again by its uri: %v", err)
	}
	if got, _ := r.shown("o"); got.Spec.Text != "edited" || got.UID != "uid-o" || !hasLabels(got, "l") {
		t.Errorf("bound again: %+v", got)
	}
	if left := r.keysBelow("detached"); len(left) > 0 {
		t.Errorf("still on the detached list: %q", left)
	}
}

// The private object of an unbound record can go without touching the record.
func TestDeletionOfAnUnboundObject(t *testing.T) {
	r := alone(t)
	if _, err := r.update(r.ctx(), "o", "", unbind); err != nil {
		t.Fatal(err)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	checkQuiet(t, r, "o", func(what string, r *replica) {
		if got, _ := r.shown("o"); got != nil {
			t.Errorf("%s: the detached record is served as uid %s", what, got.UID)
		}
	})
}

// A retained record stays when its object goes. It neither reappears nor can be
// created over; a new object may follow it.
func TestRetainedRecord(t *testing.T) {
	r := alone(t)
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Spec.Record.Retain = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	checkQuiet(t, r, "o", func(what string, r *replica) {
		if got, _ := r.shown("o"); got != nil {
			t.Errorf("%s: the retained record is served as uid %s", what, got.UID)
		}
	})
	for _, text := range []string{"edited", "other"} { // the very bytes of the record, and others
		if _, err := r.create(r.ctx(), aWidget("o", text)); !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), recordURIOf("o")) {
			t.Errorf("a create over the retained record: %v", err)
		}
	}
	obj := aWidget("p", "ignored")
	obj.Spec.Record = widgetBinding{Repo: testRepo, URI: recordURIOf("o")}
	if got, err := r.create(r.ctx(), obj); err != nil || got.Spec.Text != "edited" {
		t.Errorf("following the retained record: %v, %v", got, err)
	}
	converged(t, "nothing", r)
}

// The memory of a detached record ends with the record: one that comes again
// under that key is served.
func TestDetachedListForgetsDeletedRecords(t *testing.T) {
	r := alone(t)
	if _, err := r.update(r.ctx(), "o", "", unbind); err != nil {
		t.Fatal(err)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	r.repo.foreign(recordKey("o"), nil)
	r.deliverAll()
	if left := r.keysBelow("detached"); len(left) > 0 {
		t.Errorf("a deleted record is still on the detached list: %q", left)
	}
	r.repo.foreign(recordKey("o"), widgetRecord("new"))
	if obj, _ := converged(t, "o", r); obj == nil || obj.UID == "uid-o" {
		t.Errorf("the new record is served as %+v", obj)
	}
}

// A record whose name a private object has waits until that is gone.
func TestRecordWhoseNameIsTaken(t *testing.T) {
	r := alone(t)
	if _, err := r.update(r.ctx(), "o", "", unbind); err != nil {
		t.Fatal(err)
	}
	r.repo.foreign(recordKey("o"), nil)
	r.deliverAll()
	r.repo.foreign(recordKey("o"), widgetRecord("newcomer"))
	r.deliverAll()
	if obj, _ := r.shown("o"); obj.Spec.Text != "base" {
		t.Fatalf("the private object became %+v", obj)
	}
	if st, _ := r.hub.RepoState(r.ws, testRepo); st.Conflicts[recordURIOf("o")] != "o" {
		t.Errorf("conflicts %v", st.Conflicts)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	if obj, _ := converged(t, "o", r); obj == nil || obj.Spec.Text != "newcomer" || obj.UID == "uid-o" {
		t.Errorf("after the private object is gone: %+v", obj)
	}
	if st, _ := r.hub.RepoState(r.ws, testRepo); len(st.Conflicts) > 0 {
		t.Errorf("conflicts %v", st.Conflicts)
	}
}
