package repostore

import (
	"testing"
	"time"
)

// A record changes and changes back, while an ingest has read the state between.
// Nobody writes anything for the state after, for the view shows it; so the ingest
// must not bring in what it read.
func TestBackAndForthUnderAnIngest(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("o"), widgetRecord("between"))
	write := b.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) { return b.get(b.ctx(), "o") })
	write.reached(t)
	a.repo.foreign(recordKey("o"), widgetRecord("base"))
	a.deliverAll()
	b.deliverAll()
	write.release()
	if r := ended(t, "the read", late); r.err != nil || r.obj.Spec.Text != "base" {
		t.Errorf("GET: %q, %v", r.obj.Spec.Text, r.err)
	}
	converged(t, "o", a, b)
}

// A dropped intent's put lands between the look of an ingest and its reading of
// the record: the ingest must see whose it is.
func TestLatePutUnderAnIngest(t *testing.T) {
	a, b, _ := begin(t)
	record := b.gates.stop("ingest.before-record")
	late := start(func() (*widget, error) {
		return nil, b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{wait: true})
	})
	record.reached(t)
	put := a.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	put.reached(t)
	a.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce)
	if left := b.keysBelow("intents"); len(left) > 0 {
		t.Fatalf("the expired intent is open: %q", left)
	}
	view := a.gates.stop("update.before-view")
	put.release() // it lands, and its owner sleeps again
	view.reached(t)
	record.release()
	if r := ended(t, "the ingest", late); r.err != nil {
		t.Fatal(r.err)
	}
	if obj, _ := b.shown("o"); !hasLabels(obj, "w1") {
		t.Errorf("before the owner wakes: labels %v, text %q", obj.Labels, obj.Spec.Text)
	}
	view.release()
	ended(t, "the writer", w1)
	if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1") || obj.Spec.Text != "target" {
		t.Errorf("labels %v, text %q", obj.Labels, obj.Spec.Text)
	}
}
