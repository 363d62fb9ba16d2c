package events

import (
	"sync"
	"testing"
)

func TestSubscriptionBeginsWithAGap(t *testing.T) {
	u := newHub()
	before, after := newRecorder(), newRecorder()
	u.subscribe("did:a", before.handle)
	before.none(t)
	u.setConnected(true)
	before.want(t, Gap, "")
	u.subscribe("did:a", after.handle)
	after.want(t, Gap, "")
	u.setConnected(false)
	u.setConnected(true)
	before.none(t) // reconnecting is no Gap by itself

	// An event that arrives before the state is known comes after a Gap too.
	early := newRecorder()
	u.setConnected(false)
	u.subscribe("did:b", early.handle)
	u.deliver(Event{Kind: Account, DID: "did:b"})
	early.want(t, Gap, "")
	early.want(t, Account, "")
	u.setConnected(true)
	early.none(t)
}

func TestEventsReachTheirSubscribersAlone(t *testing.T) {
	u := newHub()
	u.setConnected(true)
	a1, a2, b := newRecorder(), newRecorder(), newRecorder()
	u.subscribe("did:a", a1.handle)
	cancel := u.subscribe("did:a", a2.handle)
	u.subscribe("did:b", b.handle)
	for _, r := range []*recorder{a1, a2, b} {
		r.want(t, Gap, "")
	}
	u.deliver(Event{Kind: Commit, DID: "did:a", Rev: "1"})
	a1.want(t, Commit, "1")
	a2.want(t, Commit, "1")
	cancel()
	cancel()
	u.deliver(Event{Kind: Commit, DID: "did:a", Rev: "2"})
	a1.want(t, Commit, "2")
	a2.none(t)
	b.none(t)
	u.gapAll("all")
	a1.want(t, Gap, "")
	b.want(t, Gap, "")
	if got := u.dids(); len(got) != 2 || got[0] != "did:a" || got[1] != "did:b" {
		t.Errorf("%v", got)
	}
}

// Who has read the DIDs isn't told of the changes that they show: it would begin anew for
// nothing.
func TestChangesAreToldUntilTheyAreSeen(t *testing.T) {
	u := newHub()
	told := func() bool {
		select {
		case <-u.changed:
			return true
		default:
			return false
		}
	}
	cancel := u.subscribe("did:a", func(Event) {})
	if dids := u.dids(); len(dids) != 1 || told() {
		t.Errorf("of %v, which were read, there is a change still", dids)
	}
	cancel()
	if !told() {
		t.Error("the end of a subscription is told to nobody")
	}
}

// After cancel returned the handler is not running and isn't called again.
func TestCancelWaitsForTheHandler(t *testing.T) {
	u := newHub()
	u.setConnected(true)
	for range 200 {
		var mu sync.Mutex
		cancelled := false
		cancel := u.subscribe("did:a", func(Event) {
			mu.Lock()
			defer mu.Unlock()
			if cancelled {
				t.Error("called after cancel returned")
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() { u.deliver(Event{Kind: Commit, DID: "did:a"}) })
		cancel()
		mu.Lock()
		cancelled = true
		mu.Unlock()
		wg.Wait()
	}
}

func TestBackoffGrowsWithinItsBounds(t *testing.T) {
	b := backoff{min: 100, max: 1000}
	for i, most := range []int64{150, 300, 600, 1200, 1500, 1500} {
		if d := int64(b.pause()); d < 50 || d > most {
			t.Errorf("pause %d is %d, at most %d", i, d, most)
		}
	}
	b.reset()
	if d := b.pause(); d > 150 {
		t.Errorf("pause after a reset: %d", d)
	}
}
