package repostore

import (
	"fmt"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// ingestCounting delivers everything on r and tells how often the PDS was asked for
// a record.
func ingestCounting(t *testing.T, r *replica) int {
	t.Helper()
	r.repo.resetCounts()
	r.deliverAll()
	return r.repo.count("prove")
}

// An edit that a verified commit tells of is taken from it: at its rev, with all
// else of the object, and without asking. Whatever isn't so plain is asked for.
func TestToldEdit(t *testing.T) {
	for _, c := range []struct {
		what  string
		asked int
		do    func(t *testing.T, r *replica)
	}{
		{"an edit", 0, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("o"), widgetRecord("edited", "x"))
		}},
		{"edits in a row", 0, func(_ *testing.T, r *replica) {
			for i := range 3 {
				r.repo.foreign(recordKey("o"), widgetRecord(fmt.Sprint(i)))
			}
		}},
		{"a record that is not valid", 0, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("o"), map[string]any{"$type": widgetCollection})
		}},
		{"there and back", 0, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("o"), widgetRecord("there"))
			r.repo.foreign(recordKey("o"), widgetRecord("base"))
		}},
		{"a commit that nobody has verified", 1, func(_ *testing.T, r *replica) {
			r.repo.unsigned = true
			r.repo.foreign(recordKey("o"), widgetRecord("edited"))
		}},
		{"a record that appears", 1, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("p"), widgetRecord("new"))
		}},
		{"an edit of a record that has just appeared", 1, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("p"), widgetRecord("new"))
			r.repo.foreign(recordKey("p"), widgetRecord("newer"))
		}},
		{"a record that goes", 1, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("o"), nil)
		}},
		{"a record that goes and comes again", 1, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("o"), nil)
			r.repo.foreign(recordKey("o"), widgetRecord("again"))
		}},
		{"an event that comes late", 1, func(_ *testing.T, r *replica) {
			r.repo.foreign(recordKey("p"), widgetRecord("new"))
			r.deliverAll()
			r.repo.foreign(recordKey("o"), widgetRecord("edited"))
			r.repo.foreign(recordKey("p"), widgetRecord("newer"))
			r.src.deliver(1, false) // a gap
			r.deliverAll()          // compared
			r.repo.foreign(recordKey("o"), widgetRecord("other"))
			r.src.disconnect()
			r.src.reconnect()
		}},
		{"an edit after a failure of the PDS", 1, func(_ *testing.T, r *replica) {
			r.m().answered("", atproto.ErrUnavailable)
			r.repo.foreign(recordKey("o"), widgetRecord("edited"))
		}},
		{"an edit while the account is not active", 1, func(_ *testing.T, r *replica) {
			r.m().receive(events.Event{Kind: events.Account, DID: testDID, Status: "deactivated"})
			r.repo.foreign(recordKey("o"), widgetRecord("edited"))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := alone(t)
			if _, err := r.label(r.ctx(), "o", "kept"); err != nil {
				t.Fatal(err)
			}
			c.do(t, r)
			if got := ingestCounting(t, r); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
			obj, st := r.shown("o")
			if rec := r.repo.value(recordKey("o")); rec != nil && valid(rec) && !declares(obj, rec) {
				t.Errorf("shows %q, its record %v", obj.Spec.Text, rec)
			}
			if obj != nil && (!hasLabels(obj, "kept") || st.CID != r.repo.cidAt(recordKey("o"), st.Rev)) {
				t.Errorf("labels %v, %q at rev %s", obj.Labels, st.CID, st.Rev)
			}
			if p, _ := r.shown("p"); p != nil && p.Spec.Text != r.repo.value(recordKey("p"))["text"] {
				t.Errorf("p shows %q", p.Spec.Text)
			}
			if r.m().progress.held != 0 {
				t.Errorf("%d bytes are held for an empty line", r.m().progress.held)
			}
		})
	}
}

// Bytes that are not what their CID says are not taken, whoever let them through.
func TestToldOtherBytes(t *testing.T) {
	r := alone(t)
	since := r.repo.head()
	r.src.disconnect()
	c := r.repo.foreign(recordKey("o"), widgetRecord("true"))
	other, _, err := encodeRecord(recordKey("o"), widgetRecord("false"))
	if err != nil {
		t.Fatal(err)
	}
	cid := r.repo.cidAt(recordKey("o"), c.Rev)
	r.m().receive(events.Event{
		Kind: events.Commit, DID: testDID, Rev: c.Rev, Since: since, Records: map[string][]byte{cid: other},
		Ops: []events.Op{{Action: "update", Collection: widgetCollection, RKey: "o", CID: cid}},
	})
	if got := ingestCounting(t, r); got != 1 {
		t.Errorf("asked %d times", got)
	}
	if obj, _ := r.shown("o"); obj.Spec.Text != "true" {
		t.Errorf("shows %q", obj.Spec.Text)
	}
}

// One commit may tell of several records.
func TestToldTogether(t *testing.T) {
	r := alone(t)
	if _, err := r.create(r.ctx(), aWidget("p", "base")); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	r.repo.together(map[atproto.Key]map[string]any{recordKey("o"): widgetRecord("one"), recordKey("p"): widgetRecord("two")})
	if got := ingestCounting(t, r); got != 0 {
		t.Errorf("asked %d times", got)
	}
	o, a := r.shown("o")
	p, b := r.shown("p")
	if o.Spec.Text != "one" || p.Spec.Text != "two" || a.Rev != r.repo.head() || b.Rev != r.repo.head() {
		t.Errorf("%q at %s, %q at %s; head %s", o.Spec.Text, a.Rev, p.Spec.Text, b.Rev, r.repo.head())
	}
}

// A put that is announced while its intent is open belongs to its writer: it is
// asked for, and settled as ever, so that its private part comes with it.
func TestToldUnderAnIntent(t *testing.T) {
	a, b, _ := begin(t)
	view := a.gates.stop("update.before-view")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("new", "w1")) })
	view.reached(t)
	if got := ingestCounting(t, b); got == 0 {
		t.Error("not asked")
	}
	if obj, _ := b.shown("o"); obj.Spec.Text != "new" || !hasLabels(obj, "w1") {
		t.Errorf("text %q, labels %v", obj.Spec.Text, obj.Labels)
	}
	view.release()
	if r := ended(t, "the writer", w1); r.err != nil {
		t.Error(r.err)
	}
	converged(t, "o", a, b)
}

// A put that lands after it was given up is recognized, though an event tells its
// bytes; and an edit that was made before it is not brought in over its base.
func TestToldUnderATombstone(t *testing.T) {
	a, b, _ := begin(t)
	put := a.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	put.reached(t)
	a.repo.foreign(recordKey("o"), widgetRecord("between"))
	a.repo.foreign(recordKey("o"), widgetRecord("base"))
	a.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce)
	if left := b.keysBelow("intents"); len(left) > 0 {
		t.Fatalf("the expired intent is open: %q", left)
	}
	view := a.gates.stop("update.before-view")
	put.release() // it lands, and its owner sleeps again
	view.reached(t)
	b.src.deliver(0, false) // the first edit alone
	if err := b.m().catchUp(b.ctx()); err != nil {
		t.Fatal(err)
	}
	if obj, _ := b.shown("o"); obj.Spec.Text != "target" || !hasLabels(obj, "w1") {
		t.Errorf("text %q, labels %v", obj.Spec.Text, obj.Labels)
	}
	view.release()
	ended(t, "the writer", w1)
	converged(t, "o", a, b)
}

// What the events tell is bounded; beyond the bound it is asked for.
func TestToldIsBounded(t *testing.T) {
	p := newProgress()
	p.compared("3k22222222222", p.gap, nil)
	last := "3k22222222222"
	big := make([]byte, toldBound/4)
	for i := range 6 {
		rev := fmt.Sprintf("3k2222222222%c", "34567a"[i])
		p.add(events.Event{
			Kind: events.Commit, Rev: rev, Since: last, Records: map[string][]byte{"c": big},
			Ops: []events.Op{{Action: "update", Collection: widgetCollection, RKey: fmt.Sprint(i), CID: "c"}},
		}, time.Now(), func(string) bool { return true })
		last = rev
	}
	told := 0
	todo, _ := p.tasks()
	for _, task := range todo {
		if task.told != nil {
			told++
		}
	}
	if len(todo) != 6 || told != 4 || p.held > toldBound {
		t.Errorf("%d tasks, %d told, %d bytes held", len(todo), told, p.held)
	}
	for _, task := range todo {
		p.done(task)
	}
	if p.held != 0 || p.known != last {
		t.Errorf("%d bytes held at the end, known %s", p.held, p.known)
	}
}

// Only the next event in order is believed: one that is late, repeated, or after a
// gap is a hint.
func TestToldInOrder(t *testing.T) {
	event := func(since, rev string) events.Event {
		return events.Event{Kind: events.Commit, Rev: rev, Since: since, Records: map[string][]byte{"c": {1}},
			Ops: []events.Op{{Action: "update", Collection: widgetCollection, RKey: "o", CID: "c"}}}
	}
	const r1, r2, r3, r4 = "3k22222222223", "3k22222222224", "3k22222222225", "3k22222222226"
	for what, c := range map[string]struct {
		events []events.Event
		rev    string
		told   bool
	}{
		"in order":       {[]events.Event{event(r1, r2), event(r2, r3)}, r3, true},
		"late":           {[]events.Event{event(r2, r3), event(r1, r2)}, r3, false},
		"repeated":       {[]events.Event{event(r1, r2), event(r1, r2)}, r2, true},
		"after a gap":    {[]events.Event{event(r1, r2), {Kind: events.Gap}, event(r2, r3)}, r3, false},
		"one is missing": {[]events.Event{event(r1, r2), event(r3, r4)}, r4, false},
		"no since":       {[]events.Event{event("", r2)}, r2, false},
		"twice in one commit": {[]events.Event{{Kind: events.Commit, Rev: r2, Since: r1, Records: map[string][]byte{"c": {1}, "d": {2}}, Ops: []events.Op{
			{Action: "update", Collection: widgetCollection, RKey: "o", CID: "c"}, {Action: "update", Collection: widgetCollection, RKey: "o", CID: "d"}}}}, r2, false},
	} {
		p := newProgress()
		p.compared(r1, p.gap, nil)
		for _, e := range c.events {
			p.add(e, time.Now(), func(string) bool { return true })
		}
		todo, _ := p.tasks()
		if len(todo) != 1 || todo[0].rev != c.rev || (todo[0].told != nil) != c.told {
			t.Errorf("%s: %+v", what, todo)
		}
	}
}
