package atproto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// emptied is a budget whose burst is used up, with room for as many that wait as go in
// wait. Its clock stands still.
func emptied(o BudgetOptions) (*Budget, *testclock.FakeClock) {
	clk := testclock.NewFakeClock(start)
	o.Clock = clk
	b := NewBudget("https://pds.example", o)
	b.limiter.AllowN(start, b.limiter.Burst())
	return b, clk
}

// state of a request that has entered.
func (b *Budget) state(w *waiter) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.proceed(b.clock.Now())
	switch {
	case w.flow != nil:
		return "waits"
	case w.err != nil:
		return w.err.Error()
	default:
		return "goes"
	}
}

// TestAccountThatQueuesMuchWaitsForItselfAlone: one account queues all
// that fit, 100 requests, and the request of another goes with the next turn.
func TestAccountThatQueuesMuchWaitsForItselfAlone(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, MaxWait: 10 * time.Second})
	var greedy []*waiter
	for range 100 {
		w, err := b.enter("did:greedy", bulk)
		if err != nil {
			t.Fatal(err)
		}
		greedy = append(greedy, w)
	}
	// There is no room for more of this account, and it is told when there would be.
	if _, err := b.enter("did:greedy", bulk); RetryAfter(err) != 10100*time.Millisecond {
		t.Errorf("beyond what fits: %v", err)
	}
	for i := range 3 {
		clk.Step(100 * time.Millisecond) // one of the account's goes
		w, err := b.enter(fmt.Sprint("did:small-", i), bulk)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.state(w); got != "waits" {
			t.Fatalf("request %d before its turn: %s", i, got)
		}
		clk.Step(100 * time.Millisecond)
		if got := b.state(w); got != "goes" {
			t.Errorf("request %d with the next turn: %s", i, got)
		}
	}
	// Those three turns are missing at the end of whoever queued that far.
	clk.SetTime(start.Add(10 * time.Second))
	went := 0
	for i, w := range greedy {
		switch got := b.state(w); {
		case got == "goes" && i == went:
			went++
		case i < 97 || RetryAfter(w.err) != time.Second:
			t.Errorf("request %d of the account that queues much: %s", i, got)
		}
	}
	if went != 97 {
		t.Errorf("%d went of 100 turns, of which others took 3", went)
	}
}

// TestHousekeepingWaitsAsOne: of however many accounts the server looks after, a tenant
// waits for one look, and the looks go on beside it.
func TestHousekeepingWaitsAsOne(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, MaxWait: time.Second})
	ours := Housekeeping(t.Context())
	var looks, calls []*waiter
	enter := func(ctx context.Context, c *call) *waiter {
		w, err := b.enter(flowOf(ctx, c), lineOf(c))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for i := range 5 {
		looks = append(looks, enter(ours, &call{did: fmt.Sprint("did:", i), upkeep: true}))
	}
	for range 5 {
		calls = append(calls, enter(t.Context(), &call{did: "did:0"}))
	}
	for i := range 5 {
		clk.Step(200 * time.Millisecond)
		if l, c := b.state(looks[i]), b.state(calls[i]); l != "goes" || c != "goes" {
			t.Errorf("after %d rounds: look %s, call %s", i+1, l, c)
		}
	}
}

// TestTenantOfManyAccountsIsOne: a tenant that reads 40 accounts, and queues for each, keeps
// another waiting for one turn, as does an account that is no tenant's.
func TestTenantOfManyAccountsIsOne(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, MaxWait: 4 * time.Second})
	for i := range 40 {
		if _, err := b.enter(flowOf(t.Context(), &call{tenant: "many", did: fmt.Sprint("did:", i)}), bulk); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		var others []*waiter
		for _, c := range []*call{{tenant: "one", did: "did:0"}, {did: "did:0"}} {
			w, err := b.enter(flowOf(t.Context(), c), bulk)
			if err != nil {
				t.Fatal(err)
			}
			others = append(others, w)
		}
		clk.Step(300 * time.Millisecond) // one turn of each
		for _, w := range others {
			if got := b.state(w); got != "goes" {
				t.Errorf("round %d: %s", i, got)
			}
		}
	}
}

// TestBudgetHoldsItsPromises: however accounts come, wait and give up, no more requests
// go than the rate allows; none waits for longer than it may; a request of an account
// that had no turn lately goes when it was foretold; and at the end nothing is kept.
func TestBudgetHoldsItsPromises(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rapid.Check(t, func(t *rapid.T) {
		const perSecond, maxWait = 10, time.Second
		b, clk := emptied(BudgetOptions{Rate: perSecond, Burst: 5, MaxWait: maxWait})
		type request struct {
			*waiter
			did   string
			since time.Time
			by    time.Time // when it goes at the latest; zero: nothing was promised
		}
		var all []*request
		went := 0
		settle := func() {
			now := clk.Now()
			for i := 0; i < len(all); i++ {
				r := all[i]
				switch b.state(r.waiter) {
				case "waits":
					if now.Sub(r.since) >= maxWait || (!r.by.IsZero() && now.After(r.by)) {
						t.Fatalf("%s has waited since %s, at %s, promised for %s", r.did, r.since, now, r.by)
					}
					continue
				case "goes":
					went++
				default:
					if !r.by.IsZero() {
						t.Fatalf("%s is refused: %v", r.did, r.err)
					}
				}
				all = append(all[:i], all[i+1:]...)
				i--
			}
			if most := math.Floor(now.Sub(start).Seconds()*perSecond + 0.001); float64(went) > most {
				t.Fatalf("%d went by %s", went, now)
			}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			did := rapid.SampledFrom([]string{"a", "a", "a", "b", "c", "d"}).Draw(t, "account")
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0:
				clk.Step(time.Duration(rapid.IntRange(1, 300).Draw(t, "ms")) * time.Millisecond)
			case 1:
				if i := rapid.IntRange(0, len(all)).Draw(t, "which"); i < len(all) {
					if err := b.giveUp(ended, all[i].waiter); err == nil {
						t.Fatal("a wait that was given up ended well")
					}
					all = append(all[:i], all[i+1:]...)
				}
			default:
				now := clk.Now()
				fresh := b.turns.flows[did] == nil // it neither waits nor had a turn lately
				before := b.turns.ahead(did, bulk)
				switch w, err := b.enter(did, bulk); {
				case err != nil:
					if RetryAfter(err) <= maxWait {
						t.Fatalf("refused although its turn is in %s", RetryAfter(err))
					}
				case w == nil:
					went++
				default:
					r := &request{waiter: w, did: did, since: now}
					if fresh {
						r.by = b.turnAt.Add(time.Duration(before) * time.Second / perSecond)
					}
					all = append(all, r)
				}
			}
			settle()
		}
		clk.Step(time.Minute)
		settle()
		if len(all) > 0 || len(b.turns.flows) > 0 || b.turn != nil {
			t.Fatalf("kept at the end: %d requests, %+v, %v", len(all), b.turns, b.turn)
		}
	})
}

// waiting returns once so many requests wait and one of them watches the clock.
func waiting(t *testing.T, b *Budget, clk *testclock.FakeClock, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		got := b.turns.waiting
		b.mu.Unlock()
		if got == n && (n == 0 || clk.HasWaiters()) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d requests wait, want %d", got, n)
		}
	}
}

// TestOneOfThoseThatWaitLeads: the others sleep until it has something for them, and one
// of them goes on when it gives up.
func TestOneOfThoseThatWaitLeads(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, Burst: 1, MaxWait: 10 * time.Second})
	ctx, giveUp := context.WithCancel(t.Context())
	var given, went sync.WaitGroup
	wait := func(ctx context.Context, want error, g *sync.WaitGroup) {
		g.Go(func() {
			if err := b.acquire(ctx, readCall()); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
	wait(ctx, ErrUnavailable, &given) // it leads
	waiting(t, b, clk, 1)
	for range 20 {
		wait(t.Context(), nil, &went)
		wait(ctx, ErrUnavailable, &given)
	}
	waiting(t, b, clk, 41)
	if n := clk.Waiters(); n != 1 {
		t.Errorf("%d of those that wait have a timer", n)
	}
	giveUp()
	given.Wait()
	for left := 20; left > 0; left-- {
		waiting(t, b, clk, left)
		clk.Step(100 * time.Millisecond)
	}
	went.Wait()
	if b.turn != nil {
		t.Error("a turn is taken although nothing waits")
	}
}

// TestLastThatGivesUpGivesTheTurnBack: and nothing else than the turns that were taken is
// missing afterwards.
func TestLastThatGivesUpGivesTheTurnBack(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, Burst: 1, MaxWait: time.Second})
	for range 3 {
		w, err := b.enter("did:a", bulk)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.giveUp(ctx, w); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
	}
	clk.Step(100 * time.Millisecond)
	if w, err := b.enter("did:b", bulk); w != nil || err != nil {
		t.Errorf("with a turn that nobody took: %v, %v", w, err)
	}
	if w, err := b.enter("did:b", bulk); w == nil {
		t.Errorf("a turn was given twice: %v", err)
	}
}

// TestPauseEndsTheWait: those that wait when the PDS says 429 don't ask it.
func TestPauseEndsTheWait(t *testing.T) {
	t.Parallel()
	b, clk := emptied(BudgetOptions{Rate: 10, Burst: 1})
	done := make(chan error, 1)
	go func() { done <- b.acquire(t.Context(), readCall()) }()
	waiting(t, b, clk, 1)
	b.observe(readCall(), 429, limitHeaders(3000, 0, start.Add(time.Minute)))
	clk.Step(100 * time.Millisecond)
	if err := <-done; RetryAfter(err) != time.Minute-100*time.Millisecond {
		t.Errorf("%v", err)
	}
}
