package devpds

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// limiter counts points per key in fixed windows that begin with the first
// request, as rate-limiter-flexible does it: a refused request spends too.
type limiter struct {
	points int
	window time.Duration
	clock  clock.PassiveClock

	mu   sync.Mutex
	keys map[string]*windowState
}

type windowState struct {
	used int
	ends time.Time
}

// limitStatus is a limiter's state after a request.
type limitStatus struct {
	limiter   *limiter
	remaining int
	ends      time.Time
	exceeded  bool
}

// spend takes points of a key.
func (l *limiter) spend(key string, points int) limitStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	w := l.keys[key]
	if w == nil || !now.Before(w.ends) {
		w = &windowState{ends: now.Add(l.window)}
		l.keys[key] = w
	}
	w.used += points
	return limitStatus{l, max(0, l.points-w.used), w.ends, w.used > l.points}
}

// limiters of the whole server; nil when they are off.
type limiters struct {
	writeHour, writeDay, perIP, getRepo, loginDay, loginFive, signup *limiter
}

func newLimiters(l Limits, c clock.PassiveClock) *limiters {
	if !l.Enabled {
		return nil
	}
	of := func(points int, window time.Duration) *limiter {
		return &limiter{points: points, window: window, clock: c, keys: map[string]*windowState{}}
	}
	const day = 24 * time.Hour
	return &limiters{
		writeHour: of(l.WriteHour, time.Hour), writeDay: of(l.WriteDay, day),
		perIP: of(l.PerIP, 5*time.Minute), getRepo: of(l.GetRepo, 5*time.Minute),
		loginDay: of(l.LoginDay, day), loginFive: of(l.LoginFive, 5*time.Minute),
		signup: of(l.Signup, 5*time.Minute),
	}
}

// charge is what one request spends of one limiter.
type charge struct {
	limiter *limiter
	key     string
	points  int
}

// spendAll spends every charge, and tells the client of the tightest, or refuses
// with the first that is exceeded.
func spendAll(w http.ResponseWriter, now time.Time, charges []charge) error {
	var tightest, refused *limitStatus
	for _, c := range charges {
		if c.points < 1 {
			continue
		}
		st := c.limiter.spend(c.key, c.points)
		if st.exceeded && refused == nil {
			refused = &st
		}
		if tightest == nil || st.remaining < tightest.remaining {
			tightest = &st
		}
	}
	if refused != nil {
		tightest = refused
	}
	if tightest == nil {
		return nil
	}
	h := w.Header()
	h.Set("RateLimit-Limit", fmt.Sprint(tightest.limiter.points))
	h.Set("RateLimit-Reset", fmt.Sprint(tightest.ends.Unix()))
	h.Set("RateLimit-Remaining", fmt.Sprint(tightest.remaining))
	h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%d", tightest.limiter.points, int(tightest.limiter.window.Seconds())))
	if refused == nil {
		return nil
	}
	h.Set("Retry-After", fmt.Sprint(int(math.Ceil(tightest.ends.Sub(now).Seconds()))))
	return &xrpcError{http.StatusTooManyRequests, "RateLimitExceeded", "Rate Limit Exceeded"}
}
