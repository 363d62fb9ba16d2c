package repostore

import "testing"

// A record that a creation has just put is followed by its uri before its object is
// there: it stays the creation's. One record is never two objects'.
func TestFollowOfARecordThatIsBeingCreated(t *testing.T) {
	w := newWorld(t)
	a, b := w.replica("A"), w.replica("B")
	view := a.gates.stop("create.before-view")
	create := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("o", "base")) })
	view.reached(t)
	first := b.gates.stop("pause")
	follow := start(func() (*widget, error) { return b.create(b.ctx(), following("f", testRepo, recordURIOf("o"))) })
	first.reached(t)
	second := b.gates.stop("pause")
	first.release()
	second.reached(t) // it has tried twice, and is held: it would give up after some tries
	view.release()
	if r := ended(t, "the creation", create); r.err != nil {
		t.Fatal(r.err)
	}
	second.release()
	if r := ended(t, "the follower", follow); r.err == nil {
		t.Error("a record that is served was followed")
	}
	if obj, _ := converged(t, "o", a, b); obj == nil || obj.UID != "uid-o" {
		t.Errorf("served as %+v", obj)
	}
	if obj, _ := b.shown("f"); obj != nil {
		t.Errorf("served twice: %+v", obj)
	}
}
