package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"
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
type Poll struct {
	o   PollOptions
	hub *hub

	// state of each repository that is polled; Run's alone.
	state map[string]*polled
}

// polled is what was last seen of a repository.
type polled struct {
	rev      string
	inactive bool
	due      time.Time
	failed   bool
}

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
	return &Poll{o: o, hub: newHub(), state: map[string]*polled{}}, nil
}

// Subscribe implements Source.
func (p *Poll) Subscribe(did string, h Handler) (cancel func()) { return p.hub.subscribe(did, h) }

// Connected implements Source: the last look at one repository at least
// succeeded.
func (p *Poll) Connected() bool { return p.hub.isConnected() }

// Run implements Source. It returns nil when ctx ended.
func (p *Poll) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		next := p.round(ctx)
		t := p.o.Clock.NewTimer(next)
		select {
		case <-t.C():
		case <-p.hub.changed:
		case <-ctx.Done():
		}
		t.Stop()
	}
	p.hub.setConnected(false)
	return nil
}

// round looks at the repositories that are due, and says when the next one is.
func (p *Poll) round(ctx context.Context) time.Duration {
	dids := p.hub.dids()
	p.forget(dids)
	next := p.o.Interval
	for _, did := range dids {
		s := p.of(did)
		now := p.o.Clock.Now()
		if !now.Before(s.due) {
			s.due = now.Add(p.look(ctx, did, s))
		}
		next = min(next, s.due.Sub(now))
	}
	ok := len(dids) == 0
	for _, did := range dids {
		ok = ok || !p.of(did).failed
	}
	p.hub.setConnected(ok && ctx.Err() == nil)
	return max(next, time.Millisecond)
}

// look asks for did's latest commit and says when to look again.
func (p *Poll) look(ctx context.Context, did string, s *polled) time.Duration {
	again := p.o.Interval - p.o.Interval/10 + rand.N(p.o.Interval/5+1)
	if p.o.Leading != nil && !p.o.Leading() {
		s.failed = false
		return again
	}
	commit, err := p.o.Latest(ctx, did)
	s.failed = err != nil
	switch {
	case errors.Is(err, atproto.ErrRepoInactive):
		s.failed = false
		if !s.inactive {
			s.inactive = true
			p.hub.deliver(Event{Kind: Account, DID: did, Status: "inactive"})
		}
		return again
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Poll of the latest commit failed", "did", did, "err", err)
		return max(again, atproto.RetryAfter(err))
	}
	if s.inactive {
		s.inactive = false
		p.hub.deliver(Event{Kind: Account, DID: did, Active: true})
	}
	if s.rev != commit.Rev {
		reason := fmt.Sprintf("the repository moved on from rev %q", s.rev)
		s.rev = commit.Rev
		p.hub.deliver(Event{Kind: Gap, DID: did, Rev: commit.Rev, Reason: reason})
	}
	return again
}

func (p *Poll) of(did string) *polled {
	s := p.state[did]
	if s == nil {
		s = &polled{}
		p.state[did] = s
	}
	return s
}

// forget drops the state of repositories that nobody subscribes to any more.
func (p *Poll) forget(dids []string) {
	kept := make(map[string]*polled, len(dids))
	for _, did := range dids {
		if s := p.state[did]; s != nil {
			kept[did] = s
		}
	}
	p.state = kept
}
