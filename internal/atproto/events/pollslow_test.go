package events

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

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

// some are n looks that hang. What was not due yet comes to be, where clk isn't nil.
func (h *hanging) some(t *testing.T, n int, clk *testclock.FakeClock) (out []chan struct{}) {
	t.Helper()
	for end := time.Now().Add(patience); len(out) < n; {
		select {
		case let := <-h.began:
			out = append(out, let)
		case <-time.After(time.Millisecond):
			if clk != nil {
				clk.Step(time.Second)
			}
		}
		if time.Now().After(end) {
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

// looks returns once the account was looked at so often from now on, while time passes.
func (r *recorder) looks(t *testing.T, clk *testclock.FakeClock, n int) {
	t.Helper()
	for range len(r.ch) {
		<-r.ch
	}
	for end := time.Now().Add(patience); n > 0; {
		select {
		case e := <-r.ch:
			if e.Rev != "" {
				n--
			}
		case <-time.After(time.Millisecond):
			clk.Step(time.Second)
		}
		if time.Now().After(end) {
			t.Fatal("an account waits for others that hang")
		}
	}
}

// TestPollOfAccountsThatHang: they keep no other waiting, neither one whose look goes on
// for long nor many that did so before; and what they take is bounded.
func TestPollOfAccountsThatHang(t *testing.T) {
	t.Parallel()
	h := &hanging{began: make(chan chan struct{}), asked: map[string]int{}}
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	p, err := NewPoll(PollOptions{Latest: h.latest, Interval: time.Second, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, p)
	one, other := newRecorder(), newRecorder()
	p.Subscribe("did:hangs", one.handle)
	first := h.some(t, 1, nil)
	p.Subscribe("did:other", other.handle)
	other.looks(t, clk, 5)
	letGo(first)
	one.until(t, "1")

	// Many that nothing is known of are looked at as others are, each once.
	const batches = 3
	for i := range batches * lookers {
		p.Subscribe(fmt.Sprint("did:hangs-", i), func(Event) {})
	}
	for range batches {
		batch := h.some(t, lookers, nil)
		clk.Step(lookPatience)
		letGo(batch)
	}
	// They are known for it now, and hold no more places than are theirs.
	for range 3 {
		batch := h.some(t, slowLookers, clk)
		other.looks(t, clk, 5)
		clk.Step(lookPatience)
		letGo(batch)
	}
	stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > lookers || h.at != 0 {
		t.Errorf("%d looks at once, %d left", h.most, h.at)
	}
}

// TestPollOfAccountsThatAreDropped: a look that hangs ends with the last subscription, and
// holds no place that others need.
func TestPollOfAccountsThatAreDropped(t *testing.T) {
	t.Parallel()
	h := &hanging{began: make(chan chan struct{}), asked: map[string]int{}}
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	p, err := NewPoll(PollOptions{Latest: h.latest, Interval: time.Second, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, p)
	for i := range lookers + 1 { // one more than there are places
		cancel := p.Subscribe(fmt.Sprint("did:hangs-", i), func(Event) {})
		h.some(t, 1, nil)
		cancel()
	}
	stop()
}
