// Package fairly works off queues of many workspaces, so that one whose work takes long,
// as that of a PDS which accepts and never answers does, holds up nobody but itself.
package fairly

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// patience is how long a worker waits for its item. Work that is done by asking a server
// that answers takes far less.
const patience = 500 * time.Millisecond

// Crew works a queue off. Its workers begin one item after the other, and an item that
// takes longer than their patience is left to itself. So that no workspace has more at
// once than all workers of one without any, its further items wait until one of them is
// done. Fields don't change after Run was called, once.
type Crew[K comparable] struct {
	// Queue of the items. Run ends when it was shut down.
	Queue workqueue.TypedInterface[K]
	// Workspace whose item it is.
	Workspace func(K) string
	// Do the work of an item. It may add the item again, and must not call Done.
	Do func(context.Context, K)
	// Workers begin items, and each workspace has so many at once at most.
	Workers int
	// Clock of the patience.
	Clock clock.WithTicker
	// Patience; 0: half a second.
	Patience time.Duration

	begun   sync.WaitGroup
	mu      sync.Mutex          // guards what follows
	busy    map[string]int      // workspace → items begun and not done; none: no entry
	waiting map[string]*line[K] // workspace → items that wait; none: no entry
}

// line is items that wait, each once, oldest first.
type line[K comparable] struct {
	order []K
	in    map[K]bool
}

// Run works until the queue was shut down and every item that was begun is done.
func (c *Crew[K]) Run(ctx context.Context) {
	if c.Patience == 0 {
		c.Patience = patience
	}
	c.busy, c.waiting = map[string]int{}, map[string]*line[K]{}
	var workers sync.WaitGroup
	for range c.Workers {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	workers.Wait()
	c.begun.Wait()
}

// next begins one item; false: the queue has ended.
func (c *Crew[K]) next(ctx context.Context) bool {
	k, ended := c.Queue.Get()
	if ended {
		return false
	}
	if !c.begin(k) {
		c.Queue.Done(k)
		return true
	}
	done := make(chan struct{})
	c.begun.Go(func() {
		defer c.end(k)
		defer c.Queue.Done(k)
		defer close(done)
		c.Do(ctx, k)
	})
	timer := c.Clock.NewTimer(c.Patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C():
	}
	return true
}

// begin takes one of the workspace's places for an item; false: there is none, and the
// item waits for one.
func (c *Crew[K]) begin(k K) bool {
	ws := c.Workspace(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[ws] < c.Workers {
		c.busy[ws]++
		return true
	}
	l := c.waiting[ws]
	if l == nil {
		l = &line[K]{in: map[K]bool{}}
		c.waiting[ws] = l
	}
	if !l.in[k] {
		l.in[k] = true
		l.order = append(l.order, k)
	}
	return false
}

// end gives the place back, and queues the item that has waited longest for one.
func (c *Crew[K]) end(k K) {
	ws := c.Workspace(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[ws]--; c.busy[ws] == 0 {
		delete(c.busy, ws)
	}
	l := c.waiting[ws]
	if l == nil {
		return
	}
	next := l.order[0]
	l.order = l.order[1:]
	if delete(l.in, next); len(l.order) == 0 {
		delete(c.waiting, ws)
	}
	c.Queue.Add(next)
}
