package usage

import (
	"errors"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// TestGrowthOfWhatIsNotSeen: an object that the tracker has not seen yet, or not as it
// is now, grows from what this process has made of it.
func TestGrowthOfWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	w := newWorld(t, Limits{Bytes: 1500}, clock)
	w.start()() // it has counted, and follows no more
	const key = "/infras/one/a"
	r, err := w.Create(t.Context(), key, 1000)
	if err != nil {
		t.Fatal(err)
	}
	r.Done(w.put("/views"+key, 1000))
	errs := make(chan error, 1)
	go func() {
		r, err := w.Grow(t.Context(), key, 1000)
		r.Done(0)
		errs <- err
	}()
	for {
		select {
		case err := <-errs:
			var e *ExceededError
			if !errors.As(err, &e) || e.Used != 1000 || e.Requested != 1000 {
				t.Errorf("%v", err)
			}
			return
		case <-time.After(time.Millisecond):
			clock.Step(seenWait)
		}
	}
}

// TestShrunkMeanwhile: what this process has made smaller since is seen before a growth
// is refused.
func TestShrunkMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Bytes: 1500}, nil)
	w.start()
	const key = "/infras/one/a"
	for range 20 {
		r, err := w.Grow(t.Context(), key, 1000)
		if err != nil {
			t.Fatal(err)
		}
		r.Done(w.put("/views"+key, 1000))
		w.Freed(key, w.put("/views"+key, 1))
	}
}

// TestUnknownOfWorkspaceThatWent: of a workspace whose last write came to nothing
// nothing is kept.
func TestUnknownOfWorkspaceThatWent(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	w := newWorld(t, Limits{Objects: 2}, clock)
	w.start()
	for _, key := range []string{"/infras/one/a", "/infras/one/b"} {
		r, err := w.Create(t.Context(), key, 1)
		if err != nil {
			t.Fatal(err)
		}
		r.Unknown()
	}
	clock.Step(unknownTerm + time.Second)
	w.put("/views/infras/two/a", 1)
	w.until("nothing of one", func() bool { return w.accounts["two"] != nil && w.accounts["one"] == nil })
}
