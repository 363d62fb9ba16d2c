package repostore

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// following is an object that asks for an existing record.
func following(name, repo, uri string) *widget {
	w := aWidget(name, "ignored")
	w.Spec.Record = widgetBinding{Repo: repo, URI: uri}
	return w
}

// spec.record.uri follows an existing record; whatever can't be followed is 422.
func TestFollow(t *testing.T) {
	r := alone(t)
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: "side", Repo: newMemRepo("did:plc:carolcarolcarolcarolcarol"), Access: AccessReadWrite})
	side := r.hub.mountNamed(r.ws, "side").Repo.(*memRepo)
	side.foreign(recordKey("theirs"), widgetRecord("followed"))
	sideURI := recordURI{side.did, recordKey("theirs")}.String()
	if all, err := r.list(r.ctx()); err != nil || len(all) != 1 {
		t.Fatalf("the records of a repository that is not the default appear by themselves: %v, %v", all, err)
	}
	obj, err := r.create(r.ctx(), following("mine", "side", sideURI))
	if err != nil || obj.Spec.Text != "followed" || obj.Status.Record.URI != sideURI {
		t.Fatalf("follow: %+v, %v", obj, err)
	}
	side.foreign(recordKey("theirs"), widgetRecord("edited"))
	if obj, err := r.get(r.ctx(), "mine"); err != nil || obj.Spec.Text != "edited" {
		t.Errorf("after an edit: %+v, %v", obj, err)
	}
	if _, err := r.update(r.ctx(), "mine", "", public("pushed", "l")); err != nil || side.value(recordKey("theirs"))["text"] != "pushed" {
		t.Errorf("a write to the followed record: %v", err)
	}
	for what, w := range map[string]*widget{
		"no such record":      following("x", "side", recordURI{side.did, recordKey("absent")}.String()),
		"served already":      following("x", "side", sideURI),
		"another repository":  following("x", testRepo, sideURI),
		"another collection":  following("x", "side", "at://"+side.did+"/com.example.other/theirs"),
		"no uri at all":       following("x", "side", "theirs"),
		"no such AtprotoRepo": following("x", "missing", ""),
	} {
		if _, err := r.create(r.ctx(), w); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, change := range map[string]func(*widget) error{
		"another repository": func(w *widget) error { w.Spec.Record.Repo = testRepo; return nil },
		"another uri":        func(w *widget) error { w.Spec.Record.URI = recordURIOf("o"); return nil },
	} {
		if _, err := r.update(r.ctx(), "mine", "", change); !apierrors.IsInvalid(err) {
			t.Errorf("binding to %s in place: %v", what, err)
		}
	}
}

// An object without a record is published by binding it; nothing is lost if the
// process ends in between.
func TestBindPrivateObject(t *testing.T) {
	for _, crash := range []bool{false, true} {
		r := alone(t)
		if _, err := r.update(r.ctx(), "o", "", unbind); err != nil {
			t.Fatal(err)
		}
		r.repo.foreign(recordKey("o"), nil) // still on the detached list: nobody has looked
		bind := func(w *widget) error {
			w.Spec.Record.Repo = testRepo
			setLabel(w, "bound")
			return nil
		}
		other := r.world.replica("B")
		if crash {
			view := r.gates.stop("create.before-view")
			w1 := start(func() (*widget, error) { return r.update(r.ctx(), "o", "", bind) })
			view.reached(t)
			r.clock.jump(time.Hour)
			other.hub.sweep(other.ctx(), atOnce)
			view.release()
			ended(t, "the write whose owner slept", w1)
		} else if _, err := r.update(r.ctx(), "o", "", bind); err != nil {
			t.Fatal(err)
		}
		obj, st := converged(t, "o", other, r)
		if obj == nil || obj.UID != "uid-o" || !hasLabels(obj, "bound") || !st.bound() {
			t.Errorf("crash %v: %+v", crash, obj)
		}
		if left := r.keysBelow("detached"); len(left) > 0 {
			t.Errorf("crash %v: a bound record is on the detached list: %q", crash, left)
		}
		r.wipe()
		again := r.world.replica("C")
		if all, err := again.list(again.ctx()); err != nil || all["o"] == nil || all["o"].UID != "uid-o" {
			t.Errorf("crash %v: after the loss of the views: %v, %v", crash, all, err)
		}
	}
}

// Access Read serves the records and refuses to write them; None asks nothing.
func TestAccess(t *testing.T) {
	r := alone(t)
	r.mount(AccessRead)
	r.repo.foreign(recordKey("o"), widgetRecord("edited"))
	if obj, err := r.get(r.ctx(), "o"); err != nil || obj.Spec.Text != "edited" {
		t.Errorf("Read: %+v, %v", obj, err)
	}
	commits := r.repo.commits()
	refused := func(access string) {
		if _, err := r.create(r.ctx(), aWidget("p", "x")); !apierrors.IsForbidden(err) {
			t.Errorf("%s: create: %v", access, err)
		}
		if _, err := r.update(r.ctx(), "o", "", public("try", "l")); !apierrors.IsForbidden(err) {
			t.Errorf("%s: update: %v", access, err)
		}
		if err := r.delete(r.ctx(), "o"); !apierrors.IsForbidden(err) {
			t.Errorf("%s: delete: %v", access, err)
		}
		if _, err := r.label(r.ctx(), "o", access); err != nil {
			t.Errorf("%s: a private change: %v", access, err)
		}
	}
	refused("Read")
	r.mount(AccessNone)
	r.repo.setDown(atproto.ErrUnavailable)
	refused("None")
	if obj, err := r.get(r.ctx(), "o"); err != nil || !hasLabels(obj, "Read", "None") {
		t.Errorf("None: %+v, %v", obj, err)
	}
	if all, err := r.list(r.ctx()); err != nil || len(all) != 1 {
		t.Errorf("None: LIST %v, %v", all, err)
	}
	if n := r.repo.commits(); n != commits {
		t.Errorf("%d commits", n-commits)
	}
	if left := r.keysBelow("intents"); len(left) > 0 {
		t.Errorf("intents left: %q", left)
	}
}

// An object whose repository is unmounted is neither absent nor writable.
func TestUnmounted(t *testing.T) {
	r := alone(t)
	r.hub.RemoveRepo(r.ws, testRepo)
	if _, err := r.get(r.ctx(), "o"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("GET: %v", err)
	}
	if _, err := r.update(r.ctx(), "o", "", public("try", "l")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("update: %v", err)
	}
	if err := r.delete(r.ctx(), "o"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("delete: %v", err)
	}
	r.mount(AccessReadWrite)
	if _, err := r.get(r.ctx(), "o"); err != nil {
		t.Errorf("GET after it is mounted again: %v", err)
	}
}
