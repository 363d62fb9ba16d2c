package events

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// polled is a repository that is polled.
type polled struct {
	did string
	// rev and inactive are what was last seen of it.
	rev      string
	inactive bool
	// state is what its last look came to, and due when it is looked at next.
	state pollState
	due   time.Time
	// slow tells that its last look took long.
	slow bool
	// cancel ends the look that is under way; nil: there is none.
	cancel context.CancelFunc
	// dropped: nobody subscribes to it any more.
	dropped bool

	// found, wait and took are what a look came to, how long to leave the repository
	// alone afterwards, and how long it took.
	found      pollState
	wait, took time.Duration
}

// pollState is what a look came to.
type pollState int

const (
	pollOpen pollState = iota // there was none
	pollGood
	pollFailed
	pollStates
)

// look asks for a's latest commit, and delivers what it tells.
func (p *Poll) look(ctx context.Context, a *polled) {
	begin := p.o.Clock.Now()
	commit, err := p.o.Latest(ctx, a.did)
	a.took = p.o.Clock.Since(begin)
	a.found, a.wait = pollGood, p.pause()
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, atproto.ErrRepoInactive):
		if !a.inactive {
			a.inactive = true
			p.hub.deliver(Event{Kind: Account, DID: a.did, Status: "inactive"})
		}
		return
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Poll of the latest commit failed", "did", a.did, "err", err)
		a.found, a.wait = pollFailed, max(a.wait, atproto.RetryAfter(err))
		return
	}
	if a.inactive {
		a.inactive = false
		p.hub.deliver(Event{Kind: Account, DID: a.did, Active: true})
	}
	if a.rev != commit.Rev {
		reason := fmt.Sprintf("the repository moved on from rev %q", a.rev)
		a.rev = commit.Rev
		p.hub.deliver(Event{Kind: Gap, DID: a.did, Rev: commit.Rev, Reason: reason})
	}
}

// pollQueue is a heap of repositories, that which is due first at its top.
type pollQueue []*polled

var _ heap.Interface = (*pollQueue)(nil)

// Len implements heap.Interface.
func (q *pollQueue) Len() int { return len(*q) }

// Less implements heap.Interface.
func (q *pollQueue) Less(i, j int) bool { return (*q)[i].due.Before((*q)[j].due) }

// Swap implements heap.Interface.
func (q *pollQueue) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }

// Push implements heap.Interface.
func (q *pollQueue) Push(a any) { *q = append(*q, a.(*polled)) }

// Pop implements heap.Interface.
func (q *pollQueue) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return a
}

// drop takes out what was dropped.
func (q *pollQueue) drop() {
	n := len(*q)
	*q = slices.DeleteFunc(*q, func(a *polled) bool { return a.dropped })
	if len(*q) != n {
		heap.Init(q)
	}
}
