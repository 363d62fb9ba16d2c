package events

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// hanging answers at once, but for accounts whose name says so: those hang until the
// test lets them go.
type hanging struct {
	began chan chan struct{} // looks that hang: closing one lets it go

	mu       sync.Mutex // guards what follows
	at, most int        // looks under way, and at most
	asked    map[string]int
}

func (h *hanging) note(did string, n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at += n
	h.most = max(h.most, h.at)
	h.asked[did]++
	return h.asked[did]
}

// latest is another rev each time.
func (h *hanging) latest(ctx context.Context, did string) (atproto.Commit, error) {
	rev := h.note(did, 1)
	defer h.note(did, -1)
	if strings.Contains(did, "hangs") {
		let := make(chan struct{})
		select {
		case h.began <- let:
			select {
			case <-let:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}
	return atproto.Commit{Rev: fmt.Sprint(rev)}, ctx.Err()
}

// some are n looks that hang.
func (h *hanging) some(t *testing.T, n int) (out []chan struct{}) {
	t.Helper()
	for len(out) < n {
		select {
		case let := <-h.began:
			out = append(out, let)
		case <-time.After(patience):
			t.Fatalf("%d looks have begun, want %d", len(out), n)
		}
	}
	return out
}

func letGo(looks []chan struct{}) {
	for _, l := range looks {
		close(l)
	}
}

// looks returns once the account was looked at so often from now on.
func (r *recorder) looks(t *testing.T, n int) {
	t.Helper()
	for range len(r.ch) {
		<-r.ch
	}
	for n > 0 {
		select {
		case e := <-r.ch:
			if e.Rev != "" {
				n--
			}
		case <-time.After(patience):
			t.Fatal("an account waits for others that hang")
		}
	}
}

// hangingPoll runs a poll of accounts of which some hang. It is in a bubble: what answers
// at once takes no time.
func hangingPoll(t *testing.T) (h *hanging, p *Poll, stop func()) {
	t.Helper()
	h = &hanging{began: make(chan chan struct{}), asked: map[string]int{}}
	p, err := NewPoll(PollOptions{Latest: h.latest, Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return h, p, start(t, p)
}

// TestPollOfAccountsThatHang: they keep no other waiting, neither one whose look goes on
// for long nor many that did so before; and what they take is bounded.
func TestPollOfAccountsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p, stop := hangingPoll(t)
		one, other := newRecorder(), newRecorder()
		p.Subscribe("did:hangs", one.handle)
		first := h.some(t, 1)
		p.Subscribe("did:other", other.handle)
		other.looks(t, 5)
		letGo(first)
		one.until(t, "1")

		// Many that nothing is known of are looked at as others are, each once.
		const batches = 3
		for i := range batches * lookers {
			p.Subscribe(fmt.Sprint("did:hangs-", i), func(Event) {})
		}
		for range batches {
			batch := h.some(t, lookers)
			time.Sleep(lookPatience)
			letGo(batch)
		}
		// They are known for it now, and hold no more places than are theirs.
		for range 3 {
			batch := h.some(t, slowLookers)
			other.looks(t, 5)
			time.Sleep(lookPatience)
			letGo(batch)
		}
		stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.most != lookers || h.at != 0 {
			t.Errorf("%d looks at once, %d left", h.most, h.at)
		}
	})
}

// TestPollOfAccountsThatAreDropped: a look that hangs ends with the last subscription, and
// holds no place that others need.
func TestPollOfAccountsThatAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p, stop := hangingPoll(t)
		for i := range lookers + 1 { // one more than there are places
			cancel := p.Subscribe(fmt.Sprint("did:hangs-", i), func(Event) {})
			h.some(t, 1)
			cancel()
		}
		stop()
	})
}
