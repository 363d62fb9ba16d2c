package atproto

import (
	"context"
	"fmt"
	"time"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

type housekeepingKey struct{}

// Housekeeping marks the calls that are made with the context as the server's own, which
// no request of an account waits for: polls, looks at quiet repositories. Of all accounts
// of a host they take turns as if they were one account's, so that they keep nobody
// waiting however many there are.
func Housekeeping(ctx context.Context) context.Context {
	return context.WithValue(ctx, housekeepingKey{}, true)
}

// flowOf a call is its tenant, or the account where there is none; "" for the server's
// own. A tenant gets no more turns by naming more accounts: to read one needs no
// credentials.
func flowOf(ctx context.Context, c *call) string {
	if ctx.Value(housekeepingKey{}) != nil {
		return ""
	}
	if c.tenant != "" {
		return "tenant " + c.tenant
	}
	return "account " + c.did
}

// lineOf a call within its flow.
func lineOf(c *call) line {
	if c.upkeep {
		return upkeep
	}
	return bulk
}

// enter takes a turn, where one is free, or a place among those that wait; where its
// turn would come too late it refuses.
func (b *Budget) enter(name string, l line) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	b.proceed(now)
	if b.turns.waiting == 0 && b.limiter.AllowN(now, 1) {
		return nil, nil
	}
	if wait := b.untilTurn(now, b.turns.ahead(name, l)); wait > b.maxWait {
		return nil, b.refuse(wait, metrics.RefusedRate)
	}
	w := b.turns.add(name, l, now.Add(b.maxWait))
	b.reserve(now)
	return w, nil
}

// reserve takes the next turn from the limiter, whoever will have it. b.mu is held.
func (b *Budget) reserve(now time.Time) {
	if b.turn == nil {
		b.turn = b.limiter.ReserveN(now, 1)
		b.turnAt = now.Add(b.turn.DelayFrom(now))
	}
}

// untilTurn is how long it is until the turn that has so many before it. b.mu is held.
func (b *Budget) untilTurn(now time.Time, before int) time.Duration {
	later := time.Duration(float64(before) / float64(b.limiter.Limit()) * float64(time.Second))
	if b.turn != nil {
		return b.turnAt.Sub(now) + later
	}
	r := b.limiter.ReserveN(now, 1)
	defer r.CancelAt(now)
	return r.DelayFrom(now) + later
}

// proceed gives the turns that are due, and refuses what has waited for too long: others
// came that have had fewer turns. b.mu is held.
func (b *Budget) proceed(now time.Time) {
	for b.turns.waiting > 0 && !now.Before(b.turnAt) {
		w := b.turns.pop()
		b.turn = nil
		if b.turns.waiting > 0 {
			b.reserve(now)
		}
		close(w.ended)
	}
	for w := b.turns.oldest(); w != nil && !now.Before(w.until); w = b.turns.oldest() {
		w.err = b.refuse(b.untilTurn(now, b.turns.aheadOf(w)), metrics.RefusedRate)
		b.leave(now, w)
		close(w.ended)
	}
}

// leave takes w from those that wait; the last gives the turn back. b.mu is held.
func (b *Budget) leave(now time.Time, w *waiter) {
	b.turns.remove(w)
	if b.turns.waiting == 0 {
		if now.After(b.turnAt) {
			now = b.turnAt // a turn that is past can't be given back any more
		}
		b.turn.CancelAt(now)
		b.turn = nil
	}
}

// wait for the turn of w. One of those that wait leads: it sleeps until something is due,
// and sees to it for all.
func (b *Budget) wait(ctx context.Context, w *waiter) error {
	select {
	case b.lead <- struct{}{}:
		defer func() { <-b.lead }()
	case <-w.ended:
		return w.err
	case <-ctx.Done():
		return b.giveUp(ctx, w)
	}
	for {
		due, ended := b.due(w)
		if ended {
			return w.err
		}
		timer := b.clock.NewTimer(due)
		select {
		case <-timer.C():
		case <-w.ended:
		case <-ctx.Done():
			timer.Stop()
			return b.giveUp(ctx, w)
		}
		timer.Stop()
	}
}

// due does what is due, and says how long it is until something is again. ended: w has
// its answer.
func (b *Budget) due(w *waiter) (in time.Duration, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	b.proceed(now)
	if w.flow == nil {
		return 0, true
	}
	return min(b.turnAt.Sub(now), b.turns.oldest().until.Sub(now)), false
}

// giveUp ends a wait with its context.
func (b *Budget) giveUp(ctx context.Context, w *waiter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.flow != nil {
		b.leave(b.clock.Now(), w)
	}
	if w.err != nil {
		return w.err
	}
	return fmt.Errorf("%w: waiting for the request budget of %s: %w", ErrUnavailable, b.host, ctx.Err())
}
