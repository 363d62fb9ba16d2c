package repostore

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// closing mounts the world's repository as one whose AtprotoRepo is being deleted.
func (r *replica) closing() {
	r.mount(AccessReadWrite, func(m *MountedRepo) { m.Closing, m.Default = true, false })
}

// An AtprotoRepo that is being deleted gets no new objects, on whatever way, and
// serves those that it has.
func TestClosingRepo(t *testing.T) {
	r := alone(t)
	if _, err := r.create(r.ctx(), aWidget("was-bound", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.update(r.ctx(), "was-bound", "", unbind); err != nil {
		t.Fatal(err)
	}
	r.hub.ExpectDefault(r.ws, testRepo, true)
	r.closing()
	r.repo.foreign(recordKey("theirs"), widgetRecord("x"))
	named := aWidget("named", "x")
	named.Spec.Record.Repo = testRepo
	for what, w := range map[string]*widget{
		"by name": named, "by default": aWidget("default", "x"), "by uri": following("follows", testRepo, recordURIOf("theirs")),
	} {
		if _, err := r.create(r.ctx(), w); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "being deleted") {
			t.Errorf("create %s: %v", what, err)
		}
	}
	if _, err := r.update(r.ctx(), "was-bound", "", func(w *widget) error { w.Spec.Record.Repo = testRepo; return nil }); !apierrors.IsInvalid(err) {
		t.Errorf("binding: %v", err)
	}
	r.deliverAll()
	if all, err := r.list(r.ctx()); err != nil || len(all) != 2 || all["theirs"] != nil {
		t.Errorf("objects %v, %v", all, err)
	}
	if _, err := r.update(r.ctx(), "o", "", public("changed", "l")); err != nil || r.repo.value(recordKey("o"))["text"] != "changed" {
		t.Errorf("a write of what it has: %v", err)
	}
	if err := r.delete(r.ctx(), "o"); err != nil {
		t.Error(err)
	}
}

// A creation that was decided before its AtprotoRepo began to be deleted is either
// refused, or seen as a write in flight until its object is there.
func TestCreationWhileTheRepoCloses(t *testing.T) {
	r := alone(t)
	writing := func() bool {
		t.Helper()
		w, err := r.hub.Writing(r.ctx(), r.ws, r.repo.did)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for point, done := range map[string]bool{"create.before-intent": false, "create.before-put": true, "create.before-view": true} {
		r.mount(AccessReadWrite)
		name := strings.ReplaceAll(point, ".", "-")
		gate := r.gates.stop(point)
		c := start(func() (*widget, error) { return r.create(r.ctx(), aWidget(name, "x")) })
		gate.reached(t)
		r.closing()
		if w := writing(); w != done {
			t.Errorf("%s: in flight: %t", point, w)
		}
		gate.release()
		if res := ended(t, point, c); (res.err == nil) != done {
			t.Errorf("%s: %v", point, res.err)
		}
		if _, err := r.get(r.ctx(), name); (err == nil) != done {
			t.Errorf("%s: read: %v", point, err)
		}
		if writing() {
			t.Errorf("%s: still in flight", point)
		}
	}
}
