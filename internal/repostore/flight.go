package repostore

import (
	"context"
	"errors"
	"sync"
	"time"
)

// flight joins callers of one piece of work. Unlike a plain single flight it
// never lets a caller share a run that had begun before the call: that run may
// have looked before something that the caller knows of (I7). A caller joins the
// next run instead, so nobody waits for more than two.
type flight struct {
	owner     *Hub   // of its runs
	workspace string // that they work for
	timeout   time.Duration

	mu            sync.Mutex
	running, next *run
}

type run struct {
	ctx  context.Context
	done chan struct{}
	err  error
}

// do runs fn, or joins a run that starts later than now. fn gets a context of the
// owner's: it serves all callers, so one that leaves doesn't end it, and what
// belongs to the request of one (its user, whom to warn) is none of the others'.
func (f *flight) do(ctx context.Context, fn func(context.Context) error) error {
	f.mu.Lock()
	var r *run
	switch {
	case f.running == nil:
		r = &run{ctx: f.owner.runContext(ctx, f.workspace), done: make(chan struct{})}
		f.running = r
		if err := f.owner.spawn(func() { f.loop(fn) }); err != nil {
			f.running = nil
			f.mu.Unlock()
			return err
		}
	case f.next == nil:
		r = &run{ctx: f.owner.runContext(ctx, f.workspace), done: make(chan struct{})}
		f.next = r
	default:
		r = f.next
	}
	f.mu.Unlock()
	select {
	case <-r.done:
		if r.ctx.Err() != nil {
			return errors.Join(errStopping, r.err)
		}
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop runs until nobody waits for another run; timeout bounds each.
func (f *flight) loop(fn func(context.Context) error) {
	f.mu.Lock()
	r := f.running
	f.mu.Unlock()
	for r != nil {
		bounded, cancel := context.WithTimeout(r.ctx, f.timeout)
		r.err = fn(bounded)
		cancel()
		close(r.done)
		// Taking the next run and giving up are one step: a caller finds either a
		// loop that will take its run or none.
		f.mu.Lock()
		f.running, f.next = f.next, nil
		r = f.running
		f.mu.Unlock()
	}
}
