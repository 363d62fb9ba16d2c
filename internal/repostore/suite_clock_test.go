package repostore

import (
	"time"

	"k8s.io/utils/clock"
)

// cacheClock is the Cacher's clock: the real one, but the Cacher doesn't wait 15 s
// before it asks what etcd has compacted. Upstream's tests of the Cacher reach
// into it instead.
type cacheClock struct{ clock.RealClock }

// compactionPoll is the period of the Cacher's compactor; nothing else in it
// waits so long.
const compactionPoll = 15 * time.Second

func (c cacheClock) NewTimer(d time.Duration) clock.Timer {
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
