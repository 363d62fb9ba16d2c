package repostore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// One compare, or one condition, a test: each is the only one that stands between
// the schedule and the loss.

// horizonAt is the horizon's mod revision.
func (r *replica) horizonAt(t *testing.T) int64 {
	t.Helper()
	_, sn, err := r.store.lookRecord(r.ctx(), r.ws, recordURI{testDID, recordKey("o")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sn.horizonRevision
}

// versionOf counts how often a view was written since it is there.
func (r *replica) versionOf(t *testing.T, name string) int64 {
	t.Helper()
	resp, err := r.etcd.Get(t.Context(), r.store.keys.view(r.ref(name)), clientv3.WithKeysOnly())
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("%v, %v", resp, err)
	}
	return resp.Kvs[0].Version
}

// An own write that comes back costs neither a question nor a transaction that
// writes.
func TestOwnWritesThatComeBack(t *testing.T) {
	r := alone(t)
	horizon := r.horizonAt(t)
	if _, err := r.create(r.ctx(), aWidget("p", "x")); err != nil {
		t.Fatal(err)
	}
	if n := ingestCounting(t, r); n != 0 {
		t.Errorf("a creation: asked %d times", n)
	}
	if _, err := r.update(r.ctx(), "p", "", public("y", "l")); err != nil {
		t.Fatal(err)
	}
	if n := ingestCounting(t, r); n != 0 {
		t.Errorf("an update: asked %d times", n)
	}
	if err := r.delete(r.ctx(), "p"); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	if now := r.horizonAt(t); now != horizon {
		t.Errorf("the horizon was written at revision %d", now)
	}
}

// A record that came and went is found so by each replica; one writes it down.
func TestCameAndWentIsWrittenOnce(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("p"), widgetRecord("p"))
	a.repo.foreign(recordKey("p"), nil)
	a.deliverAll()
	horizon := a.horizonAt(t)
	b.deliverAll()
	if now := b.horizonAt(t); now != horizon {
		t.Errorf("the horizon was written again at revision %d", now)
	}
}

// An event that was told comes when the view is past it: nothing goes back (I6).
func TestToldBehindTheView(t *testing.T) {
	r := alone(t)
	r.repo.foreign(recordKey("o"), widgetRecord("edited"))
	if obj, err := r.get(r.ctx(), "o"); err != nil || obj.Spec.Text != "edited" {
		t.Fatal(obj, err)
	}
	if _, err := r.update(r.ctx(), "o", "", public("new", "l")); err != nil {
		t.Fatal(err)
	}
	_, before := r.shown("o")
	r.src.deliver(0, false) // the edit alone
	if err := r.m().catchUp(r.ctx()); err != nil {
		t.Fatal(err)
	}
	if obj, st := r.shown("o"); obj.Spec.Text != "new" || st.Rev != before.Rev {
		t.Errorf("text %q at rev %s, it was at %s", obj.Spec.Text, st.Rev, before.Rev)
	}
}

// S5 with nobody who compares: the fence alone keeps a late ingest from making a
// deleted object again.
func TestFenceAlone(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("p"), widgetRecord("p"))
	write := b.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) {
		return nil, b.store.ingest(b.ctx(), b.m(), recordKey("p"), ingestOptions{wait: true})
	})
	write.reached(t)
	horizon := a.horizonAt(t)
	a.deliverAll()
	if err := a.delete(a.ctx(), "p"); err != nil {
		t.Fatal(err)
	}
	if a.horizonAt(t) != horizon {
		t.Fatal("the horizon moved, and would stop the ingest by itself")
	}
	write.release()
	if r := ended(t, "the late ingest", late); r.err != nil {
		t.Fatal(r.err)
	}
	if obj, _ := b.shown("p"); obj != nil {
		t.Errorf("the late ingest made the deleted object again, with uid %s", obj.UID)
	}
}

// The horizon is raised over a view as it was seen, and never lowered.
func TestRaiseOver(t *testing.T) {
	r := alone(t)
	look := func() snapshot {
		t.Helper()
		_, sn, err := r.store.lookRecord(r.ctx(), r.ws, recordURI{testDID, recordKey("o")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sn
	}
	const high, higher = "3kzzzzzzzzzzy", "3kzzzzzzzzzzz"
	before := look()
	if err := r.m().raiseHorizon(r.ctx(), high); err != nil {
		t.Fatal(err)
	}
	if err := r.store.raiseOver(r.ctx(), r.ref("o"), testDID, before, higher); !errors.Is(err, errMoved) || look().horizon != high {
		t.Errorf("over a horizon that moved: %v, %q", err, look().horizon)
	}
	if err := r.store.raiseOver(r.ctx(), r.ref("o"), testDID, look(), "3k22222222222"); err != nil || look().horizon != high {
		t.Errorf("to an older rev: %v, %q", err, look().horizon)
	}
	seen := look()
	if _, err := r.label(r.ctx(), "o", "l"); err != nil {
		t.Fatal(err)
	}
	if err := r.store.raiseOver(r.ctx(), r.ref("o"), testDID, seen, higher); !errors.Is(err, errMoved) || look().horizon != high {
		t.Errorf("over a view that moved: %v, %q", err, look().horizon)
	}
}

// A record appears, and is bound by another name before its object is made.
func TestAppearedAndBoundMeanwhile(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("p"), widgetRecord("p"))
	write := b.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) {
		return nil, b.store.ingest(b.ctx(), b.m(), recordKey("p"), ingestOptions{wait: true})
	})
	write.reached(t)
	if _, err := a.create(a.ctx(), following("f", testRepo, recordURIOf("p"))); err != nil {
		t.Fatal(err)
	}
	write.release()
	if r := ended(t, "the ingest", late); r.err != nil {
		t.Fatal(r.err)
	}
	if obj, _ := b.shown("p"); obj != nil {
		t.Error("one record is two objects'")
	}
}

// A replica that knows its AtprotoRepo to be closing makes no object of a record that
// appears, whether or not etcd tells so any more.
func TestNothingAppearsWhileClosing(t *testing.T) {
	r := alone(t)
	r.mount(AccessReadWrite, func(m *MountedRepo) { m.Closing = true })
	r.deliverAll()
	r.repo.foreign(recordKey("p"), widgetRecord("p"))
	r.deliverAll()
	if obj, _ := r.shown("p"); obj != nil {
		t.Errorf("%+v", obj)
	}
}

// I2, by the compares alone: what was decided on a view, or on no intent, is not
// written once that has changed.
func TestPrivateWriteComparesViewAndIntent(t *testing.T) {
	t.Run("another private write", func(t *testing.T) {
		a, b, _ := begin(t)
		write := a.gates.stop("update.private.before-view")
		w1 := start(func() (*widget, error) { return a.label(a.ctx(), "o", "w1") })
		write.reached(t)
		if _, err := b.label(b.ctx(), "o", "w2"); err != nil {
			t.Fatal(err)
		}
		write.release()
		if r := ended(t, "the write", w1); r.err != nil || !hasLabels(r.obj, "w1", "w2") {
			t.Errorf("%+v, %v", r.obj, r.err)
		}
	})
	t.Run("an intent", func(t *testing.T) {
		a, b, obj := begin(t)
		write := b.gates.stop("update.private.before-view")
		w2 := start(func() (*widget, error) { return b.label(b.ctx(), "o", "w2") })
		write.reached(t)
		put := a.gates.stop("update.before-put")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", obj.ResourceVersion, public("new", "w1")) })
		put.reached(t)
		write.release()
		b.gates.passed(t, "pause", 2)
		running(b, "the private write", w2)
		put.release()
		for what, w := range map[string]<-chan result{"the public write": w1, "the private write": w2} {
			if r := ended(t, what, w); r.err != nil {
				t.Errorf("%s: %v", what, r.err)
			}
		}
		if obj, _ := converged(t, "o", a, b); !hasLabels(obj, "w1", "w2") {
			t.Errorf("labels %v", obj.Labels)
		}
	})
}

// An event of a record whose write is in flight is not done with while the event
// says that more happened than the view shows.
func TestEventUnderALiveIntentStaysInLine(t *testing.T) {
	a, b, _ := begin(t)
	view := a.gates.stop("update.before-view")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	view.reached(t)
	a.repo.foreign(recordKey("o"), widgetRecord("base"))
	for range 2 {
		b.src.deliver(0, false)
	}
	if err := b.m().catchUp(b.ctx()); !errors.Is(err, ErrBusy) || b.m().progress.reached(a.repo.head()) {
		t.Errorf("%v; known is %s of %s", err, b.m().progress.knownRev(), a.repo.head())
	}
	view.release()
	if r := ended(t, "the update", w1); r.err != nil {
		t.Error(r.err)
	}
	if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1") {
		t.Errorf("labels %v", obj.Labels)
	}
}

// The views are lost while a put is on its way: nobody takes an absent view for up
// to date, and the owner, who finds no view to finish, says so.
func TestViewLostUnderALiveIntent(t *testing.T) {
	a, b, _ := begin(t)
	put := a.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	put.reached(t)
	a.wipe()
	if err := b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{}); !errors.Is(err, ErrBusy) {
		t.Errorf("an ingest: %v, want busy", err)
	}
	put.release()
	if r := ended(t, "the update", w1); !apierrors.IsTimeout(r.err) || errors.Is(r.err, context.DeadlineExceeded) || strings.Contains(r.err.Error(), "deadline") {
		t.Errorf("the update: %v", r.err)
	}
	a.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce)
	if obj, _ := converged(t, "o", a, b); obj == nil || obj.UID != "uid-o" || hasLabels(obj, "w1") {
		t.Errorf("%+v", obj)
	}
}

// A gap stays open until a comparison that began after it closes it, and events
// prove nothing meanwhile; an event that comes again opens none.
func TestGapsOfTheLine(t *testing.T) {
	const r1, r2, r3 = "3k22222222223", "3k22222222224", "3k22222222225"
	all := func(string) bool { return true }
	p := newProgress()
	p.compared(r1, p.gap, nil)
	began := p.gap
	p.add(toldEvent("", r2, "o"), time.Now(), all)
	p.lost("views were lost")
	p.compared(r2, began, nil)
	if _, g := p.tasks(); !g.open() {
		t.Error("a comparison closed the gap that opened under it")
	}
	p = newProgress()
	p.compared(r1, p.gap, nil)
	p.lost("views were lost")
	p.add(toldEvent(r1, r2, "o"), time.Now(), func(string) bool { return false })
	if p.reached(r2) {
		t.Error("an event moved the line across a gap")
	}
	p.add(toldEvent(r2, r3, "o"), time.Now(), all)
	if todo, _ := p.tasks(); len(todo) != 1 || todo[0].told != nil {
		t.Errorf("in a gap an event is believed: %+v", todo)
	}
	p = newProgress()
	p.compared(r1, p.gap, nil)
	p.add(toldEvent(r1, r3, "x"), time.Now(), all)
	p.add(toldEvent(r1, r2, "o"), time.Now(), all)
	todo, g := p.tasks()
	for _, task := range todo {
		if task.key.RKey == "o" && task.told != nil {
			t.Errorf("a late event is believed: %+v", task)
		}
	}
	if len(todo) != 2 || g.open() {
		t.Errorf("%+v, gap %+v", todo, g)
	}
}

// A write that waits for another ends at the client's deadline with 504 and a
// Retry-After.
func TestWaitingWriteEndsAtItsDeadline(t *testing.T) {
	a, b, _ := begin(t)
	put := a.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("new", "w1")) })
	put.reached(t)
	for what, write := range map[string]func(r *replica) error{
		"a status":      func(r *replica) error { return r.setPhase(r.soon(t), "o", "Held") },
		"a declaration": func(r *replica) error { _, err := r.update(r.soon(t), "o", "", public("x", "l")); return err },
		"a deletion":    func(r *replica) error { return r.delete(r.soon(t), "o") },
	} {
		err := write(b)
		if _, hinted := apierrors.SuggestsClientDelay(err); !apierrors.IsTimeout(err) || !hinted {
			t.Errorf("%s: %v, want a timeout that says when to try again", what, err)
		}
	}
	put.release()
	if r := ended(t, "the update", w1); r.err != nil {
		t.Error(r.err)
	}
}

// A release says something of one intent alone.
func TestReleaseOfAnIntentThatIsGone(t *testing.T) {
	r := alone(t)
	ref := r.ref("o")
	it := &intent{Op: opUpdate, Nonce: "n", URI: recordURIOf("o"), BaseRevision: 1, modRevision: 1}
	r.store.release(r.ctx(), ref, it)
	if left := r.keysBelow("intents"); len(left) > 0 {
		t.Errorf("an intent came to be: %q", left)
	}
	if held, err := r.store.dropIntent(r.ctx(), ref, it, false); held || err != nil || len(r.keysBelow("tombstones")) > 0 {
		t.Errorf("dropped: %v, %v, tombstones %q", held, err, r.keysBelow("tombstones"))
	}
}

// An intent whose owner's clock is far ahead expires all the same: once this process
// has seen it for a whole term.
func TestExpiryByOurOwnClock(t *testing.T) {
	e := newExpiry(time.Minute)
	now := time.Now()
	it := &intent{Nonce: "n", Deadline: now.Add(time.Hour)}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {time.Minute, false}, {time.Minute + 1, true}} {
		if got := e.expired("k", it, now.Add(c.after)); got != c.want {
			t.Errorf("after %s: %v", c.after, got)
		}
	}
	if e.expired("k", &intent{Nonce: "m", Deadline: it.Deadline}, now.Add(time.Hour)) {
		t.Error("another intent inherits the time")
	}
}

// An identity is forgotten only if neither an object nor a write under way has it, and
// it is no newer than the comparison.
func TestForgetIdentities(t *testing.T) {
	r := alone(t)
	forget := func(before int64) int {
		t.Helper()
		if err := r.store.forgetIdentities(r.ctx(), r.m(), nil, before); err != nil {
			t.Fatal(err)
		}
		return len(r.keysBelow("uids"))
	}
	now, err := r.hub.revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := forget(now); n != 1 {
		t.Errorf("that of an object: %d left", n)
	}
	r.wipe()
	intent := r.store.keys.intent(r.ref("o"))
	if _, err := r.etcd.Put(t.Context(), intent, "{}"); err != nil {
		t.Fatal(err)
	}
	if n := forget(now); n != 1 {
		t.Errorf("that of a write under way: %d left", n)
	}
	if _, err := r.etcd.Delete(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	if n := forget(1); n != 1 {
		t.Errorf("one that is newer: %d left", n)
	}
	if n := forget(now); n != 0 {
		t.Errorf("one that nobody has: %d left", n)
	}
}

// soon is a request's context whose deadline is near.
func (r *replica) soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// toldEvent is an edit of a record that a verified commit tells.
func toldEvent(since, rev, rkey string) events.Event {
	return events.Event{Kind: events.Commit, Rev: rev, Since: since, Records: map[string][]byte{"c": {1}},
		Ops: []events.Op{{Action: "update", Collection: widgetCollection, RKey: rkey, CID: "c"}}}
}
