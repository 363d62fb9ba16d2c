package atproto

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

var start = time.Unix(1_800_000_000, 0)

func readCall() *call { return &call{method: latestMethod} }

func writeCall(did string) *call { return &call{method: putMethod, post: true, write: true, did: did} }

func limitHeaders(limit, left int, reset time.Time) http.Header {
	h := http.Header{}
	h.Set("RateLimit-Limit", fmt.Sprint(limit))
	h.Set("RateLimit-Remaining", fmt.Sprint(left))
	h.Set("RateLimit-Reset", fmt.Sprint(reset.Unix()))
	return h
}

func allowed(t *testing.T, b *Budget, c *call) bool {
	t.Helper()
	err := b.acquire(t.Context(), c)
	if err != nil && !errors.Is(err, ErrRateLimited) {
		t.Fatal(err)
	}
	return err == nil
}

func TestBudgetRefusesQuicklyWhenEmpty(t *testing.T) {
	clk := testclock.NewFakeClock(start)
	b := NewBudget("h", BudgetOptions{Rate: 0.1, Burst: 3, Clock: clk})
	for i := range 3 {
		if !allowed(t, b, readCall()) {
			t.Fatalf("request %d of the burst refused", i)
		}
	}
	err := b.acquire(t.Context(), readCall())
	var rl *RateLimitError
	if !errors.As(err, &rl) || !rl.Local || rl.RetryAfter < 9*time.Second {
		t.Fatalf("over the budget: %v", err)
	}
	// Refused requests took nothing from the budget.
	clk.Step(10 * time.Second)
	if !allowed(t, b, readCall()) {
		t.Error("refused after the time that it named")
	}
}

func TestBudgetWaitsShortly(t *testing.T) {
	clk := testclock.NewFakeClock(start)
	b := NewBudget("h", BudgetOptions{Rate: 10, Burst: 1, Clock: clk})
	if !allowed(t, b, readCall()) {
		t.Fatal("first request refused")
	}
	done := make(chan error)
	go func() { done <- b.acquire(t.Context(), readCall()) }()
	for !clk.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clk.Step(100 * time.Millisecond)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A 429 to a read pauses the host for every client until the reset.
func TestReadLimitPausesTheHost(t *testing.T) {
	clk := testclock.NewFakeClock(start)
	budgets := NewBudgets(BudgetOptions{Clock: clk})
	b := budgets.For("https://pds.example/")
	b.observe(readCall(), 429, limitHeaders(3000, 0, start.Add(time.Minute)))
	if got := b.PausedUntil(); !got.Equal(start.Add(time.Minute)) {
		t.Errorf("paused until %v", got)
	}
	same := budgets.For("https://PDS.example")
	for _, c := range []*call{readCall(), writeCall("did:a")} {
		err := same.acquire(t.Context(), c)
		if RetryAfter(err) != time.Minute {
			t.Errorf("%s: %v", c.method, err)
		}
	}
	if !allowed(t, budgets.For("https://other.example"), readCall()) {
		t.Error("another host is paused too")
	}
	clk.Step(time.Minute)
	if !allowed(t, b, readCall()) || !b.PausedUntil().IsZero() {
		t.Error("still paused after the reset")
	}
}

// A 429 to a write is the account's own: reads and other accounts go on.
func TestWriteLimitPausesTheAccountsWrites(t *testing.T) {
	clk := testclock.NewFakeClock(start)
	b := NewBudget("h", BudgetOptions{Clock: clk})
	b.observe(writeCall("did:a"), 429, limitHeaders(5000, 0, start.Add(time.Hour)))
	if allowed(t, b, writeCall("did:a")) {
		t.Error("the account may write")
	}
	if !allowed(t, b, writeCall("did:b")) || !allowed(t, b, readCall()) {
		t.Error("others are paused too")
	}
	clk.Step(time.Hour)
	if !allowed(t, b, writeCall("did:a")) {
		t.Error("still paused after the reset")
	}
}

func TestWritePoints(t *testing.T) {
	clk := testclock.NewFakeClock(start)
	b := NewBudget("h", BudgetOptions{Clock: clk})
	if _, ok := b.WritePoints("did:a"); ok {
		t.Error("points before any answer")
	}
	b.observe(writeCall("did:a"), 200, http.Header{})
	if _, ok := b.WritePoints("did:a"); ok {
		t.Error("points where the PDS names none")
	}
	b.observe(readCall(), 200, limitHeaders(3000, 1, start.Add(time.Hour)))
	b.observe(writeCall("did:a"), 200, limitHeaders(5000, 4321, start.Add(time.Hour)))
	p, ok := b.WritePoints("did:a")
	if !ok || p.Limit != 5000 || p.Left != 4321 || !p.Reset.Equal(start.Add(time.Hour)) {
		t.Errorf("%+v, %v", p, ok)
	}
	clk.Step(time.Hour)
	if _, ok := b.WritePoints("did:a"); ok {
		t.Error("points of a window that has passed")
	}
}

// TestWritePointsOfAccountsThatDontWrite: however many accounts come, what is known of
// those that write stays, and the others are forgotten.
func TestWritePointsOfAccountsThatDontWrite(t *testing.T) {
	t.Parallel()
	b := NewBudget("h", BudgetOptions{Clock: testclock.NewFakeClock(start)})
	h := limitHeaders(5000, 4321, start.Add(time.Hour))
	b.observe(writeCall("did:first"), 200, h)
	b.observe(writeCall("did:busy"), 200, h)
	for i := range accountsKept - 1 {
		b.observe(writeCall(fmt.Sprint("did:", i)), 200, h)
		if _, ok := b.WritePoints("did:busy"); !ok {
			t.Fatal("forgotten although it is in use")
		}
	}
	if _, ok := b.WritePoints("did:first"); ok || b.accounts.Len() != accountsKept {
		t.Errorf("%d accounts are kept", b.accounts.Len())
	}
}

// The whole way: the PDS says 429 once, and is left alone until it resets.
func TestClientLeavesALimitedHostAlone(t *testing.T) {
	f := newFakePDS(t)
	f.on(latestMethod, func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range limitHeaders(3000, 0, start.Add(time.Minute)) {
			w.Header()[k] = v
		}
		reply(w, 429, xrpcError("RateLimitExceeded", "Rate Limit Exceeded"))
	})
	c := f.client(t, func(cfg *Config) { cfg.Clock = testclock.NewFakeClock(start) })
	for range 5 {
		if err := get(c); RetryAfter(err) != time.Minute {
			t.Errorf("%v", err)
		}
	}
	if err := put(c); !errors.Is(err, ErrRateLimited) {
		t.Errorf("write while the host is paused: %v", err)
	}
	if f.count(latestMethod) != 1 || f.count(putMethod) != 0 {
		t.Errorf("%d reads and %d writes were sent", f.count(latestMethod), f.count(putMethod))
	}
}
