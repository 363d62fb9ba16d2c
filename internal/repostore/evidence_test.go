package repostore

import (
	"testing"
	"time"
)

// The stream showed an intent's target, but before the intent's time: the record
// was that once, in an earlier state of the object, or as an earlier object. That
// says nothing of the put. An intent that expired without one is dropped, whatever
// the record is by then, and nothing of it is applied.
func TestEvidenceFromBefore(t *testing.T) {
	t.Run("an earlier state", func(t *testing.T) {
		w := newWorld(t)
		a, b := w.replica("A"), w.replica("B")
		w.repo.foreign(recordKey("o"), widgetRecord("target"))
		a.deliverAll()
		b.deliverAll()
		if _, err := a.update(a.ctx(), "o", "", public("base", "w0")); err != nil {
			t.Fatal(err)
		}
		a.deliverAll()
		b.deliverAll()
		put := a.gates.stop("update.before-put")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		put.reached(t)
		b.repo.foreign(recordKey("o"), widgetRecord("other"))
		b.clock.jump(time.Hour)
		b.deliverAll()
		if obj, _ := b.shown("o"); obj.Spec.Text != "other" || hasLabels(obj, "w1") || !hasLabels(obj, "w0") {
			t.Errorf("text %q, labels %v: a put that was never sent is applied", obj.Spec.Text, obj.Labels)
		}
		put.release()
		ended(t, "the writer that slept", w1)
		converged(t, "o", b, a)
	})
	t.Run("an earlier object", func(t *testing.T) {
		w := newWorld(t)
		a, b := w.replica("A"), w.replica("B")
		for _, record := range []map[string]any{widgetRecord("target"), nil} {
			w.repo.foreign(recordKey("o"), record)
			a.deliverAll()
			b.deliverAll()
		}
		put := a.gates.stop("create.before-put")
		w1 := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("o", "target")) })
		put.reached(t)
		b.repo.foreign(recordKey("o"), widgetRecord("other"))
		b.clock.jump(time.Hour)
		b.deliverAll()
		if obj, _ := b.shown("o"); obj == nil || obj.UID == "uid-o" {
			t.Errorf("%+v: somebody else's record is served as an object whose creation was never sent", obj)
		}
		put.release()
		ended(t, "the create that slept", w1)
		converged(t, "o", b, a)
	})
}
