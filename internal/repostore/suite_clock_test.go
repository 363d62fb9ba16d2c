package repostore

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// cacheClock is the Cacher's clock: the real one, with three differences. The Cacher
// doesn't wait 15 s before it asks what etcd has compacted; upstream's tests of
// the Cacher reach into it instead. What waits for After ends with the test. And its
// time of day can be put forward.
type cacheClock struct {
	jumpClock

	mu     sync.Mutex
	ended  bool
	afters []chan time.Time
}

// compactionPoll is the period of the Cacher's compactor; nothing else in it has a
// timer of this length.
const compactionPoll = 15 * time.Second

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
