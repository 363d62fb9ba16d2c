package repostore

import (
	"testing"
)

// A record changes and changes back, and a replica has called its view up to date.
// Whatever another replica has read, or been told, of the state between must not
// come into the view any more: the next consistent read would be older than the
// repository (I7).

// shows fails unless a consistent list shows o with a text.
func (r *replica) shows(t *testing.T, text string) {
	t.Helper()
	all, err := r.list(r.ctx())
	if err != nil || all["o"] == nil || all["o"].Spec.Text != text {
		t.Fatalf("a consistent list on %s: %+v, %v, want %q", r.name, all["o"], err, text)
	}
}

// there is the edit and its end.
func (r *replica) thereAndBack(between func()) {
	r.repo.foreign(recordKey("o"), widgetRecord("between"))
	between()
	r.repo.foreign(recordKey("o"), widgetRecord("base"))
}

func TestHorizonOfAComparison(t *testing.T) {
	t.Run("an ingest that has read", func(t *testing.T) {
		a, b, _ := begin(t)
		write := b.gates.stop("ingest.before-write")
		var late <-chan result
		a.src.disconnect()
		a.thereAndBack(func() {
			late = start(func() (*widget, error) {
				return nil, b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{wait: true})
			})
			write.reached(t)
		})
		a.shows(t, "base")
		write.release()
		if r := ended(t, "the ingest", late); r.err != nil {
			t.Fatal(r.err)
		}
		a.shows(t, "base")
		converged(t, "o", b, a)
	})
	t.Run("an event that was told", func(t *testing.T) {
		a, b, _ := begin(t)
		a.src.disconnect()
		a.thereAndBack(func() {})
		a.shows(t, "base")
		b.src.deliver(0, false)
		if err := b.m().catchUp(b.ctx()); err != nil {
			t.Fatal(err)
		}
		a.shows(t, "base")
		converged(t, "o", b, a)
	})
	t.Run("an export that is newer than the head", func(t *testing.T) {
		a, b, _ := begin(t)
		a.src.disconnect()
		a.repo.foreign(recordKey("p"), widgetRecord("p")) // there is something to compare
		listing := a.gates.stop("compare.before-listing")
		a.m().progress.known = "" // as after a start: it takes an export
		list := start(func() (*widget, error) { _, err := a.list(a.ctx()); return nil, err })
		listing.reached(t)
		a.thereAndBack(func() {})
		listing.release()
		if r := ended(t, "the list", list); r.err != nil {
			t.Fatal(r.err)
		}
		for range 2 { // the event of p, and of the edit
			b.src.deliver(0, false)
		}
		if err := b.m().catchUp(b.ctx()); err != nil {
			t.Fatal(err)
		}
		a.shows(t, "base")
		converged(t, "o", b, a)
	})
}

func TestHorizonOfAnEditThatWasUndone(t *testing.T) {
	t.Run("an event that was told", func(t *testing.T) {
		a, b, _ := begin(t)
		a.thereAndBack(func() {})
		a.deliverAll()
		b.src.deliver(0, false)
		if err := b.m().catchUp(b.ctx()); err != nil {
			t.Fatal(err)
		}
		a.shows(t, "base")
		converged(t, "o", b, a)
	})
	t.Run("the view moved while it was found up to date", func(t *testing.T) {
		a, b, _ := begin(t)
		first := b.gates.stop("ingest.before-write")
		var late <-chan result
		a.thereAndBack(func() {
			late = start(func() (*widget, error) {
				return nil, b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{wait: true})
			})
			first.reached(t)
		})
		second := a.gates.stop("ingest.before-write")
		caught := start(func() (*widget, error) { a.deliverAll(); return nil, nil })
		second.reached(t)
		first.release()
		if r := ended(t, "the ingest", late); r.err != nil {
			t.Fatal(r.err)
		}
		second.release()
		ended(t, "the other one", caught)
		a.shows(t, "base")
		converged(t, "o", b, a)
	})
}

// A record came and went, and one replica knows that there is nothing to show. An
// ingest of another, which has read it between, must not make an object of it.
func TestHorizonOfARecordThatCameAndWent(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("p"), widgetRecord("p"))
	write := b.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) {
		return nil, b.store.ingest(b.ctx(), b.m(), recordKey("p"), ingestOptions{wait: true})
	})
	write.reached(t)
	a.repo.foreign(recordKey("p"), nil)
	a.deliverAll()
	write.release()
	if r := ended(t, "the ingest", late); r.err != nil {
		t.Fatal(r.err)
	}
	if all, err := a.list(a.ctx()); err != nil || all["p"] != nil {
		t.Errorf("a consistent list shows %+v, %v: its record is gone", all["p"], err)
	}
	converged(t, "p", b, a)
}

// The horizon only rises.
func TestHorizonRises(t *testing.T) {
	r := alone(t)
	horizon := func() string {
		t.Helper()
		_, sn, err := r.store.lookRecord(r.ctx(), r.ws, recordURI{testDID, recordKey("o")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sn.horizon
	}
	for _, c := range []struct{ raise, want string }{{"3k22222222224", ""}, {"3kzzzzzzzzzzz", "3kzzzzzzzzzzz"}, {"3k22222222225", "3kzzzzzzzzzzz"}} {
		want := max(c.want, horizon())
		if err := r.m().raiseHorizon(r.ctx(), c.raise); err != nil || horizon() != want {
			t.Errorf("raised to %s: %q, want %q, %v", c.raise, horizon(), want, err)
		}
	}
}
