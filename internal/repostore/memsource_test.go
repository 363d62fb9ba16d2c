package repostore

import (
	"context"
	"sync"

	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// memSource delivers the events of memRepos. Live, it delivers at once; stalled,
// it keeps them, and the test decides what arrives when: in order, twice, out of
// order, or never. It is one replica's connection.
type memSource struct {
	repos []*memRepo

	mu      sync.Mutex // guards what follows
	stalled bool
	cut     bool // not connected
	subs    []*memSubscription
}

// memSubscription is one subscription; its queue is guarded by the source's lock.
type memSubscription struct {
	source  *memSource
	handler events.Handler
	queue   []events.Event
	ended   bool
}

var _ events.Source = (*memSource)(nil)

func newMemSource(repos ...*memRepo) *memSource { return &memSource{repos: repos} }

// Subscribe implements events.Source.
func (s *memSource) Subscribe(did string, h events.Handler) func() {
	sub := &memSubscription{source: s, handler: h}
	s.mu.Lock()
	s.subs = append(s.subs, sub)
	s.mu.Unlock()
	for _, r := range s.repos {
		if r.did == did {
			r.mu.Lock()
			r.watchers = append(r.watchers, sub)
			r.mu.Unlock()
		}
	}
	sub.push(events.Event{Kind: events.Gap, DID: did, Reason: "subscribed"})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		sub.ended = true
	}
}

// Run implements events.Source; nothing needs to run.
func (s *memSource) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Connected implements events.Source.
func (s *memSource) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.cut
}

// push takes an event of the repository.
func (w *memSubscription) push(e events.Event) {
	w.source.mu.Lock()
	defer w.source.mu.Unlock()
	switch {
	case w.ended || w.source.cut:
	case w.source.stalled:
		w.queue = append(w.queue, e)
	default:
		w.handler(e)
	}
}

// stall keeps what comes from now on.
func (s *memSource) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = true
}

// disconnect loses everything from now on; reconnect begins with a Gap.
func (s *memSource) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	for _, sub := range s.subs {
		sub.queue = nil
	}
}

func (s *memSource) reconnect() {
	s.mu.Lock()
	s.cut = false
	subs := append([]*memSubscription(nil), s.subs...)
	s.mu.Unlock()
	for _, sub := range subs {
		sub.push(events.Event{Kind: events.Gap, Reason: "reconnected"})
	}
}

// waiting is how many events are kept.
func (s *memSource) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, sub := range s.subs {
		n += len(sub.queue)
	}
	return n
}

// deliver hands over the i-th kept event; keep leaves it in line, to come again.
func (s *memSource) deliver(i int, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if i < len(sub.queue) {
			e := sub.queue[i]
			if !keep {
				sub.queue = append(sub.queue[:i:i], sub.queue[i+1:]...)
			}
			if !sub.ended {
				sub.handler(e)
			}
			return
		}
		i -= len(sub.queue)
	}
}

// drop loses the i-th kept event. The next one of its repository tells by its
// since that one is missing.
func (s *memSource) drop(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if i < len(sub.queue) {
			sub.queue = append(sub.queue[:i:i], sub.queue[i+1:]...)
			return
		}
		i -= len(sub.queue)
	}
}
