package events

import (
	"context"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// fakeLatest answers with what the test set.
type fakeLatest struct {
	mu    sync.Mutex
	revs  map[string]string
	errs  map[string]error
	asked map[string]int
}

func (f *fakeLatest) latest(_ context.Context, did string) (atproto.Commit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[did]++
	return atproto.Commit{Rev: f.revs[did]}, f.errs[did]
}

func (f *fakeLatest) set(did, rev string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revs[did], f.errs[did] = rev, err
}

func (f *fakeLatest) count(did string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[did]
}

func newPoll(t *testing.T) (*Poll, *fakeLatest, *testclock.FakeClock) {
	t.Helper()
	f := &fakeLatest{revs: map[string]string{}, errs: map[string]error{}, asked: map[string]int{}}
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	p, err := NewPoll(PollOptions{Latest: f.latest, Interval: time.Second, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	return p, f, clk
}

// round lets the interval of every repository pass and does one round.
func round(t *testing.T, p *Poll, clk *testclock.FakeClock) {
	t.Helper()
	clk.Step(2 * time.Second)
	p.pass(t.Context())
}

// until takes the Gap of a rev. Before it only those may come that tell of the connection,
// which have none.
func (r *recorder) until(t *testing.T, rev string) {
	t.Helper()
	for {
		switch e := r.next(t); {
		case e.Kind != Gap || e.Rev != "" && e.Rev != rev:
			t.Fatalf("got %+v, want %s %s", e, Gap, rev)
		case e.Rev == rev:
			return
		}
	}
}

// moved is the next event that has a rev, while time passes.
func (r *recorder) moved(t *testing.T, clk *testclock.FakeClock) Event {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case e := <-r.ch:
			if e.Rev != "" {
				return e
			}
		case <-time.After(time.Millisecond):
			clk.Step(time.Second)
		}
	}
	t.Fatal("nothing moved")
	return Event{}
}

// pass looks at what is due, and says when the next repository is.
func (p *Poll) pass(ctx context.Context) time.Duration {
	p.follow()
	next := p.begin(ctx)
	for p.looking > 0 {
		p.end(<-p.ended)
		next = p.begin(ctx)
	}
	return next
}

func TestPollReportsWhatMoved(t *testing.T) {
	p, f, clk := newPoll(t)
	a, b := newRecorder(), newRecorder()
	p.Subscribe("did:a", a.handle)
	cancel := p.Subscribe("did:b", b.handle)
	f.set("did:a", "1", nil)
	f.set("did:b", "1", nil)
	if p.Connected() {
		t.Error("connected before the first look")
	}
	round(t, p, clk)
	a.until(t, "1")
	b.until(t, "1")
	if !p.Connected() {
		t.Error("not connected after a look")
	}
	round(t, p, clk)
	f.set("did:a", "2", nil)
	round(t, p, clk)
	a.want(t, Gap, "2")
	a.none(t)
	b.none(t)
	cancel()
	n := f.count("did:b")
	round(t, p, clk)
	if f.count("did:b") != n {
		t.Error("asks for a repository that nobody subscribes to")
	}
}

func TestPollKeepsToItsInterval(t *testing.T) {
	p, f, clk := newPoll(t)
	p.Subscribe("did:a", func(Event) {})
	next := p.pass(t.Context())
	if next < 900*time.Millisecond || next > 1100*time.Millisecond {
		t.Errorf("next look in %s", next)
	}
	clk.Step(next / 2)
	p.pass(t.Context())
	if n := f.count("did:a"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	f.set("did:a", "", &atproto.RateLimitError{RetryAfter: time.Minute})
	clk.Step(next)
	p.pass(t.Context())
	clk.Step(50 * time.Second)
	p.pass(t.Context())
	if n := f.count("did:a"); n != 2 {
		t.Errorf("asked %d times although limited", n)
	}
	clk.Step(20 * time.Second)
	p.pass(t.Context())
	if n := f.count("did:a"); n != 3 {
		t.Errorf("asked %d times after the limit", n)
	}
}

// TestPollStandsBy: of several replicas one asks; another that takes over reports
// what moved meanwhile.
func TestPollStandsBy(t *testing.T) {
	p, f, clk := newPoll(t)
	leading := false
	p.o.Leading = func() bool { return leading }
	var got []Event
	defer p.Subscribe("did:web:a.example", func(e Event) { got = append(got, e) })()
	f.set("did:web:a.example", "2", nil)
	round(t, p, clk) // it is connected from here on, which is a gap
	got = nil
	round(t, p, clk)
	if n := f.count("did:web:a.example"); n != 0 || len(got) != 0 {
		t.Fatalf("a replica that stands by asked %d times and reported %v", n, got)
	}
	if !p.Connected() {
		t.Error("standing by isn't being cut off")
	}
	leading = true
	round(t, p, clk)
	if len(got) != 1 || got[0].Kind != Gap || got[0].Rev != "2" {
		t.Errorf("after taking over: %v", got)
	}
}

func TestPollAccountAndFailures(t *testing.T) {
	p, f, clk := newPoll(t)
	r := newRecorder()
	p.Subscribe("did:a", r.handle)
	f.set("did:a", "", atproto.ErrRepoInactive)
	round(t, p, clk)
	r.want(t, Gap, "")
	if e := r.want(t, Account, ""); e.Active {
		t.Errorf("%+v", e)
	}
	round(t, p, clk)
	f.set("did:a", "1", nil)
	round(t, p, clk)
	if e := r.want(t, Account, ""); !e.Active {
		t.Errorf("%+v", e)
	}
	r.want(t, Gap, "1")
	f.set("did:a", "", atproto.ErrUnavailable)
	round(t, p, clk)
	if p.Connected() {
		t.Error("connected while every look fails")
	}
	f.set("did:a", "1", nil)
	round(t, p, clk)
	if !p.Connected() {
		t.Error("not connected after a look")
	}
	r.none(t)
}

func TestPollRuns(t *testing.T) {
	p, f, clk := newPoll(t)
	stop := start(t, p)
	r := newRecorder()
	f.set("did:a", "1", nil)
	p.Subscribe("did:a", r.handle) // wakes it
	r.until(t, "1")
	f.set("did:a", "2", nil)
	if e := r.moved(t, clk); e.Kind != Gap || e.Rev != "2" {
		t.Errorf("after another commit: %+v", e)
	}
	stop()
	if p.Connected() {
		t.Error("connected after the end")
	}
	if _, err := NewPoll(PollOptions{}); err == nil {
		t.Error("a Poll that can't ask")
	}
}
