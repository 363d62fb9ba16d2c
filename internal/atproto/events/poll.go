package events

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// PollOptions of NewPoll.
type PollOptions struct {
	// Latest asks for a repository's latest commit: atproto.LatestCommits. Required.
	Latest func(ctx context.Context, did string) (atproto.Commit, error)
	// Interval between two looks at one repository, ± a tenth; 0: 5 s.
	Interval time.Duration
	// Leading tells whether this process is the one of several that asks; the
	// others stand by and see what it brings in. nil: always.
	Leading func() bool
	// Clock; nil: the real one.
	Clock clock.WithTicker
}

// Poll is the Source that asks for the latest commit of each repository, where
// no stream can be had. A rev that moved is a Gap: nothing says what changed.
//
// It looks at several repositories at once. One that takes long to answer, as an
// account whose PDS accepts requests and hangs, delays its own next look alone.
type Poll struct {
	o   PollOptions
	hub *hub

	// What follows is Run's alone; so is each account that isn't being looked at.
	accounts  map[string]*polled
	queue     pollQueue
	held      []*polled // due, and wait until another slow one was looked at
	looking   int       // how many are being looked at
	slow      int       // of these, how many took long before
	in        [pollStates]int
	connected bool
	ended     chan *polled // looks that are over
}

const (
	// lookers is how many repositories are looked at at once at most. Those that took
	// long when they were looked at last get no more of them than slowLookers: the
	// others are for those that answer.
	lookers, slowLookers = 16, 12
	// lookPatience is how long a look takes at a repository that isn't slow.
	lookPatience = time.Second
)

var _ Source = (*Poll)(nil)

// NewPoll makes a Poll; Run starts it.
func NewPoll(o PollOptions) (*Poll, error) {
	if o.Latest == nil {
		return nil, errors.New("poll: no way to ask for the latest commit")
	}
	if o.Interval <= 0 {
		o.Interval = 5 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Poll{o: o, hub: newHub(), accounts: map[string]*polled{}, ended: make(chan *polled, lookers)}, nil
}

// Subscribe implements Source.
func (p *Poll) Subscribe(did string, h Handler) (cancel func()) { return p.hub.subscribe(did, h) }

// Connected implements Source: the last look at one repository at least
// succeeded.
func (p *Poll) Connected() bool { return p.hub.isConnected() }

// Run implements Source. It returns nil when ctx ended.
func (p *Poll) Run(ctx context.Context) error {
	p.follow()
	for ctx.Err() == nil {
		t := p.o.Clock.NewTimer(p.begin(ctx))
		select {
		case a := <-p.ended:
			p.end(a)
		case <-t.C():
		case <-p.hub.changed:
			p.follow()
		case <-ctx.Done():
		}
		t.Stop()
	}
	for ; p.looking > 0; p.looking-- {
		<-p.ended
	}
	p.hub.setConnected(false)
	return nil
}

// follow takes up the repositories that somebody has subscribed to since, and drops
// those that nobody subscribes to any more.
func (p *Poll) follow() {
	subscribed := map[string]bool{}
	for _, did := range p.hub.dids() {
		subscribed[did] = true
		if p.accounts[did] == nil {
			a := &polled{did: did, due: p.o.Clock.Now()}
			p.accounts[did] = a
			p.in[a.state]++
			heap.Push(&p.queue, a)
		}
	}
	for did, a := range p.accounts {
		if !subscribed[did] {
			p.in[a.state]--
			a.dropped = true
			if a.cancel != nil {
				a.cancel() // what it finds may not come after what another look finds
			}
			delete(p.accounts, did)
		}
	}
	p.queue.drop()
	p.held = slices.DeleteFunc(p.held, func(a *polled) bool { return a.dropped })
	p.tellConnected()
}

// begin looks at the repositories that are due, as many as may be at once, and says
// when the next one is.
func (p *Poll) begin(ctx context.Context) time.Duration {
	now := p.o.Clock.Now()
	for p.looking < lookers {
		a := p.next(now)
		if a == nil {
			break
		}
		if p.o.Leading != nil && !p.o.Leading() {
			p.again(a, pollGood, p.pause())
			continue
		}
		p.looking++
		if a.slow {
			p.slow++
		}
		look, cancel := context.WithCancel(ctx)
		a.cancel = cancel
		go func() { // Run waits for it
			p.look(look, a)
			cancel()
			p.ended <- a
		}()
	}
	if p.looking == lookers || len(p.queue) == 0 {
		return p.o.Interval // one that ends, or is subscribed to, is heard of before
	}
	return max(p.queue[0].due.Sub(now), time.Millisecond)
}

// next is the repository to be looked at now; nil: there is none.
func (p *Poll) next(now time.Time) *polled {
	if len(p.held) > 0 && p.slow < slowLookers {
		a := p.held[0]
		p.held = p.held[1:]
		return a
	}
	for len(p.queue) > 0 && !now.Before(p.queue[0].due) {
		a := heap.Pop(&p.queue).(*polled)
		if !a.slow || p.slow < slowLookers {
			return a
		}
		p.held = append(p.held, a)
	}
	return nil
}

// end of a look.
func (p *Poll) end(a *polled) {
	p.looking--
	a.cancel = nil
	if a.slow {
		p.slow--
	}
	a.slow = a.took >= lookPatience
	if !a.dropped {
		p.again(a, a.found, a.wait)
	}
}

// again queues a repository that was looked at for its next look.
func (p *Poll) again(a *polled, found pollState, wait time.Duration) {
	p.in[a.state]--
	p.in[found]++
	a.state, a.due = found, p.o.Clock.Now().Add(wait)
	heap.Push(&p.queue, a)
	p.tellConnected()
}

// tellConnected tells the hub. What was not looked at yet says nothing.
func (p *Poll) tellConnected() {
	was := p.connected
	switch {
	case len(p.accounts) == 0 || p.in[pollGood] > 0:
		p.connected = true
	case p.in[pollFailed] > 0:
		p.connected = false
	}
	if p.connected != was {
		p.hub.setConnected(p.connected)
	}
}

// pause between two looks at one repository.
func (p *Poll) pause() time.Duration {
	return p.o.Interval - p.o.Interval/10 + rand.N(p.o.Interval/5+1)
}
