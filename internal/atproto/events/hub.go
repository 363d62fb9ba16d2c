package events

import (
	"context"
	"slices"
	"sync"
)

// hub keeps the subscriptions of a source.
type hub struct {
	mu   sync.Mutex // guards subs, connected and changed
	subs map[string][]*subscription
	// connected: a new subscription gets its Gap at once.
	connected bool
	// changed is told, without blocking, when the set of DIDs changes.
	changed chan struct{}
}

// subscription is one handler.
type subscription struct {
	did string

	mu      sync.Mutex // held while h is called: one event at a time
	h       Handler
	ended   bool
	started bool // its first Gap was delivered
}

func newHub() *hub {
	return &hub{subs: map[string][]*subscription{}, changed: make(chan struct{}, 1)}
}

// subscribe adds a handler. cancel waits for a running call of h, so h must not
// call it.
func (u *hub) subscribe(did string, h Handler) (cancel func()) {
	s := &subscription{did: did, h: h}
	u.mu.Lock()
	first := len(u.subs[did]) == 0
	u.subs[did] = append(u.subs[did], s)
	connected := u.connected
	if first {
		u.notify()
	}
	u.mu.Unlock()
	if connected {
		s.start("subscribed")
	}
	return func() { u.cancel(s) }
}

func (u *hub) cancel(s *subscription) {
	u.mu.Lock()
	left := slices.DeleteFunc(slices.Clone(u.subs[s.did]), func(x *subscription) bool { return x == s })
	if u.subs[s.did] = left; len(left) == 0 {
		delete(u.subs, s.did)
	}
	u.notify()
	u.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// notify tells of a change; u.mu is held.
func (u *hub) notify() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// wait returns when the set of DIDs changed, or ctx ended.
func (u *hub) wait(ctx context.Context) {
	select {
	case <-u.changed:
	case <-ctx.Done():
	}
}

// start delivers the first Gap, once.
func (s *subscription) start(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.ended {
		return
	}
	s.started = true
	s.h(Event{Kind: Gap, DID: s.did, Reason: reason})
}

// deliver calls the handler, with the first Gap before any other event.
func (s *subscription) deliver(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !s.started && ev.Kind != Gap {
		s.h(Event{Kind: Gap, DID: s.did, Reason: "subscribed"})
	}
	s.started = true
	s.h(ev)
}

// deliver hands ev to the subscribers of its DID.
func (u *hub) deliver(ev Event) {
	for _, s := range u.of(ev.DID) {
		s.deliver(ev)
	}
}

// gapAll tells everyone that events may have been missed.
func (u *hub) gapAll(reason string) {
	for _, s := range u.all() {
		s.deliver(Event{Kind: Gap, DID: s.did, Reason: reason})
	}
}

// setConnected changes the state. Once connected, those who subscribed before
// get their first Gap.
func (u *hub) setConnected(connected bool) {
	u.mu.Lock()
	u.connected = connected
	u.mu.Unlock()
	if connected {
		for _, s := range u.all() {
			s.start("connected")
		}
	}
}

func (u *hub) isConnected() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.connected
}

func (u *hub) of(did string) []*subscription {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.subs[did])
}

func (u *hub) all() []*subscription {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []*subscription
	for _, l := range u.subs {
		out = append(out, l...)
	}
	return out
}

// subscribed tells whether anyone wants did's events.
func (u *hub) subscribed(did string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.subs[did]) > 0
}

// dids are those with a subscription, sorted. Of changes that they show nobody is told
// any more.
func (u *hub) dids() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-u.changed:
	default:
	}
	out := make([]string, 0, len(u.subs))
	for did := range u.subs {
		out = append(out, did)
	}
	slices.Sort(out)
	return out
}
