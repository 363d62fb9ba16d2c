package repostore

import (
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage"
)

// S6: a write was given up; much later its bytes are in the record again, put by
// somebody else. Its private part must not come with them.
func TestS6OldIntentWhoseCIDReturns(t *testing.T) {
	a, b, _ := begin(t)
	put := a.gates.stop("update.before-put")
	// The writer is gone for good: its context ends with the test.
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	put.reached(t)
	a.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce)
	if left := b.keysBelow("intents"); len(left) > 0 {
		t.Fatalf("the expired intent is open: %q", left)
	}
	if _, err := b.label(b.ctx(), "o", "w2"); err != nil {
		t.Fatal(err)
	}
	b.repo.foreign(recordKey("o"), widgetRecord("between"))
	b.deliverAll()
	b.repo.foreign(recordKey("o"), widgetRecord("target"))
	b.deliverAll()
	if obj, _ := b.shown("o"); !hasLabels(obj, "w2") || hasLabels(obj, "w1") || obj.Spec.Text != "target" {
		t.Errorf("labels %v, text %q", obj.Labels, obj.Spec.Text)
	}
	// The owner wakes after all: its put writes nothing, for the bytes are there,
	// and it can't take the view back to its old base.
	put.release()
	r := ended(t, "the writer that slept", w1)
	obj, _ := converged(t, "o", b, a)
	if !hasLabels(obj, "w2") {
		t.Errorf("labels %v", obj.Labels)
	}
	if r.err == nil && !hasLabels(obj, "w1") {
		t.Error("acknowledged, and its label is lost")
	}
}

// S6 for a create: a dropped create whose bytes come once gives its object its
// private part; the next time they are another object's.
func TestS6OldCreateWhoseCIDReturns(t *testing.T) {
	w := newWorld(t)
	a, b := w.replica("A"), w.replica("B")
	put := a.gates.stop("create.before-put")
	w1 := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("o", "target")) })
	put.reached(t)
	w.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce)
	put.release() // late, and the record is made
	ended(t, "the create that slept", w1)
	first, _ := converged(t, "o", b, a)
	if first == nil || first.UID != "uid-o" {
		t.Fatalf("the late put made %+v", first)
	}
	for range 2 {
		w.repo.foreign(recordKey("o"), nil)
		converged(t, "o", b, a)
		w.repo.foreign(recordKey("o"), widgetRecord("target"))
		if obj, _ := converged(t, "o", b, a); obj == nil || obj.UID == "uid-o" {
			t.Fatalf("a record that came again is served as %+v", obj)
		}
	}
}

// S7: the record of a create has been made elsewhere, with the very same bytes,
// and not been ingested: that is no creation.
func TestS7CreateOfAnUnseenRecord(t *testing.T) {
	w := newWorld(t)
	a, b := w.replica("A"), w.replica("B")
	put := a.gates.stop("create.before-put")
	w1 := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("o", "base")) })
	put.reached(t)
	w.repo.foreign(recordKey("o"), widgetRecord("base"))
	put.release()
	if r := ended(t, "the create", w1); !storage.IsExist(r.err) {
		t.Fatalf("want AlreadyExists: %v", r.err)
	}
	obj, _ := converged(t, "o", b, a)
	if obj == nil || obj.UID == "uid-o" {
		t.Errorf("served as %v: the record is somebody else's", obj)
	}
}
