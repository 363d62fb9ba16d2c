package atproto

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// BudgetOptions of a host's Budget. The zero value sets no limit of our own and
// honours the PDS's.
type BudgetOptions struct {
	// Rate is how many requests a second we allow ourselves, 0: no limit. A
	// hosted PDS allows 3,000 in 5 minutes (10 a second) from one address.
	Rate float64
	// Burst is how many may be sent at once; 0: as many as Rate gives in 10
	// seconds.
	Burst int
	// MaxWait is how long a request waits for its turn. One that would wait longer is
	// refused with a RateLimitError; 0: a second.
	MaxWait time.Duration
	// Clock; nil: the real one.
	Clock clock.WithTicker
}

// Budget limits the requests of this process to one PDS host. All clients and
// event sources of the host share it, so that many workspaces on one hosted PDS
// don't use up the limit of our address: after a 429 everyone pauses until the
// PDS's reset, and is told so at once instead of asking again.
//
// Where requests have to wait for their turn, turns go round among their tenants.
// One that has queued much keeps no other waiting for longer than a round, and is
// the one that is refused.
type Budget struct {
	host    string
	clock   clock.WithTicker
	limiter *rate.Limiter
	maxWait time.Duration

	// lead holds a token of the waiter that sleeps until something is due.
	lead chan struct{}

	mu sync.Mutex // guards the fields below
	// turns are what waits; turn is the next one, taken from the limiter while
	// something waits, and turnAt when it is.
	turns  turns
	turn   *rate.Reservation
	turnAt time.Time
	// paused is when the host may be asked again.
	paused time.Time
	// accounts holds what the PDS said about each account's writes, of those that
	// wrote last: DID → *WritePoints. One that is forgotten asks the PDS again.
	accounts *lru.Cache
}

// accountsKept bounds the accounts of one host whose write points are remembered.
const accountsKept = 16384

// WritePoints is what a PDS last said about an account's write limit.
type WritePoints struct {
	// Limit and Left of the tightest window, in the PDS's points (reference PDS:
	// create 3, put 2, delete 1, also for a put whose swap fails).
	Limit, Left int
	// Reset is when the window starts anew.
	Reset time.Time
	// paused is when this account may write again after a 429.
	paused time.Time
}

// NewBudget makes the budget of a host, a base URL as Repo.Host gives it.
func NewBudget(host string, o BudgetOptions) *Budget {
	b := &Budget{host: host, clock: o.Clock, maxWait: o.MaxWait, lead: make(chan struct{}, 1), accounts: lru.New(accountsKept)}
	if b.clock == nil {
		b.clock = clock.RealClock{}
	}
	if b.maxWait <= 0 {
		b.maxWait = time.Second
	}
	if o.Rate > 0 {
		burst := o.Burst
		if burst <= 0 {
			burst = max(1, int(o.Rate*10))
		}
		b.limiter = rate.NewLimiter(rate.Limit(o.Rate), burst)
	}
	return b
}

// Host whose budget it is.
func (b *Budget) Host() string { return b.host }

// PausedUntil is when the host may be asked again after a 429; zero when it may
// be asked now.
func (b *Budget) PausedUntil() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clock.Now().Before(b.paused) {
		return b.paused
	}
	return time.Time{}
}

// WritePoints tells what the PDS said about the account's write limit with its
// last answer; false where it says nothing or the window has passed.
func (b *Budget) WritePoints(did string) (WritePoints, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.account(did)
	if p == nil || p.Limit == 0 || !b.clock.Now().Before(p.Reset) {
		return WritePoints{}, false
	}
	return *p, true
}

// account is what is known of an account; nil: nothing. b.mu is held.
func (b *Budget) account(did string) *WritePoints {
	p, _ := b.accounts.Get(did)
	known, _ := p.(*WritePoints)
	return known
}

// acquire waits for the turn of c, shortly, or refuses it with a RateLimitError.
func (b *Budget) acquire(ctx context.Context, c *call) error {
	if err := b.blocked(c); err != nil || b.limiter == nil {
		return err
	}
	w, err := b.enter(flowOf(ctx, c), lineOf(c))
	if w == nil {
		return err
	}
	if err := b.wait(ctx, w); err != nil {
		return err
	}
	return b.blocked(c) // the PDS may have said so meanwhile
}

// blocked is the refusal of a call that a 429 has paused; nil: none has.
func (b *Budget) blocked(c *call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, why := b.paused, metrics.RefusedHost
	if c.write {
		if p := b.account(c.did); p != nil && p.paused.After(until) {
			until, why = p.paused, metrics.RefusedAccount
		}
	}
	if now := b.clock.Now(); now.Before(until) {
		return b.refuse(until.Sub(now), why)
	}
	return nil
}

func (b *Budget) refuse(wait time.Duration, why string) error {
	metrics.PDSRefused(why)
	return &RateLimitError{Host: b.host, RetryAfter: max(wait, time.Second), Local: true}
}

// observe learns from an answer. A 429 to a write pauses the account's writes,
// one to a login nothing (PasswordAuth holds off itself), any other the host.
func (b *Budget) observe(c *call, status int, h http.Header) {
	limit, left, limited := rateLimitOf(h)
	if status != http.StatusTooManyRequests && !(limited && c.write) {
		return
	}
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case c.write:
		p := b.account(c.did)
		if p == nil {
			p = &WritePoints{}
			b.accounts.Add(c.did, p)
		}
		if reset, ok := rateLimitReset(h, now); ok && limited {
			p.Limit, p.Left, p.Reset = limit, left, reset
		}
		if status == http.StatusTooManyRequests {
			p.paused = now.Add(retryAfter(h, now))
		}
	case !strings.HasPrefix(c.method.String(), "com.atproto.server."):
		b.paused = now.Add(retryAfter(h, now))
	}
}
