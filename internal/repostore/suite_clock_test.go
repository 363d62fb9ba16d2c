package repostore

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// cacheClock is the Cacher's clock: the real one, with four differences. The Cacher
// doesn't wait 15 s before it asks what etcd has compacted; upstream's tests of
// the Cacher reach into it instead. What waits for After ends with the test. Its time
// of day can be put forward. And a read waits for a version that etcd has for as long as
// it takes, and not at all for one that etcd hasn't: else one on a busy machine would be
// refused, or go to etcd, where a case says that it doesn't.
type cacheClock struct {
	jumpClock
	made   atomic.Pointer[time.Time] // after whatever the Cacher counts from its begin
	future atomic.Int64              // reads of a version that etcd hasn't

	mu     sync.Mutex
	ended  bool
	afters []chan time.Time
}

// compactionPoll is the period of the Cacher's compactor; nothing else in it has a
// timer of this length.
const compactionPoll = 15 * time.Second

// readWait is how long the Cacher lets a read wait for a version.
const readWait = 3 * time.Second

// Since implements clock.PassiveClock. The Cacher asks it how long a read has waited.
func (c *cacheClock) Since(t time.Time) time.Duration {
	d, made := c.jumpClock.Since(t), c.made.Load()
	switch {
	case made == nil || t.Before(*made):
		return d
	case c.future.Load() > 0:
		return max(d, readWait)
	case d < patience:
		return min(d, readWait-1)
	}
	return d
}

// NewTimer implements clock.Clock.
func (c *cacheClock) NewTimer(d time.Duration) clock.Timer {
	return hastyTimer{c.RealClock.NewTimer(hasty(d))}
}

type hastyTimer struct{ clock.Timer }

func (t hastyTimer) Reset(d time.Duration) bool { return t.Timer.Reset(hasty(d)) }

func hasty(d time.Duration) time.Duration {
	if d == compactionPoll {
		return 20 * time.Millisecond
	}
	return d
}

// After implements clock.Clock.
func (c *cacheClock) After(d time.Duration) <-chan time.Time {
	if d == readWait {
		d = patience
	}
	ch := make(chan time.Time, 1)
	time.AfterFunc(d, func() { fire(ch) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		fire(ch)
	}
	c.afters = append(c.afters, ch)
	return ch
}

// end fires whatever is waited for.
func (c *cacheClock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, ch := range c.afters {
		fire(ch)
	}
}

func fire(ch chan time.Time) {
	select {
	case ch <- time.Now():
	default:
	}
}
