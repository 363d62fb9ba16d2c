package usage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// heap is how many bytes are in use.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestBoundIsExact: of many that create at once, as many succeed as there is room for,
// however far the tracker is behind.
func TestBoundIsExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Objects: 10}, nil)
	w.put("/atprotorepos/one/main", 1)
	w.start()
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			key := fmt.Sprintf("/infras/one/a%d", i)
			r, err := w.Create(t.Context(), key, 10)
			var e *ExceededError
			if errors.As(err, &e) {
				refused.Add(1)
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			r.Done(w.put("/views"+key, 10))
			made.Add(1)
		})
	}
	wg.Wait()
	if made.Load() != 9 || refused.Load() != 41 {
		t.Errorf("%d were made, %d refused", made.Load(), refused.Load())
	}
	w.has("one", 10, 91)
	w.until("no reservation left", func() bool { return len(w.accounts["one"].pending) == 0 })
	if _, err := w.Create(t.Context(), "/infras/two/a", 10); err != nil {
		t.Errorf("in another workspace: %v", err)
	}
	if r, err := w.Create(t.Context(), "/infras/default/a", 10); r != nil || err != nil {
		t.Errorf("in the one without limits: %v, %v", r, err)
	}
	// One that is there needs no room: the storage says that it is there.
	if r, err := w.Create(t.Context(), "/atprotorepos/one/main", 10); err != nil {
		t.Errorf("one that is there: %v", err)
	} else {
		r.Done(0)
	}
	_, err := w.Create(t.Context(), "/atprotorepos/one/more", 10)
	want := "exceeded quota: workspace one, requested: objects=1, used: objects=10, limited: objects=10"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestDeletedIsFree: what this process has deleted is free for its next creation,
// though the tracker is behind.
func TestDeletedIsFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Objects: 1}, nil)
	w.put("/views/infras/one/a0", 1)
	w.start()
	for i := range 20 {
		w.Freed(fmt.Sprintf("/infras/one/a%d", i), w.remove(fmt.Sprintf("/views/infras/one/a%d", i)))
		key := fmt.Sprintf("/infras/one/a%d", i+1)
		r, err := w.Create(t.Context(), key, 1)
		if err != nil {
			t.Fatal(err)
		}
		r.Done(w.put("/views"+key, 1))
	}
	w.has("one", 1, 1)
}

// TestEndsOfReservations: a failed write frees its room, one whose outcome is unknown
// keeps it for a while, and several of one object take it once.
func TestEndsOfReservations(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	w := newWorld(t, Limits{Objects: 2}, clock)
	w.start()
	take := func(key string) *Reservation {
		t.Helper()
		r, err := w.Create(t.Context(), key, 1)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	full := func(when string, want bool) {
		t.Helper()
		r, err := w.Create(t.Context(), "/infras/one/probe", 1)
		if (err != nil) != want {
			t.Errorf("%s: %v", when, err)
		}
		r.Done(0)
	}
	a, b := take("/infras/one/a"), take("/infras/one/b")
	full("two on their way", true)
	a.Done(0)
	full("one has failed", false)
	b.Unknown()
	a, again := take("/infras/one/a"), take("/infras/one/a")
	full("one unknown, one twice", true)
	again.Done(0)
	full("one unknown, one", true)
	clock.Step(unknownTerm + time.Second)
	full("the unknown one was given up", false)
	a.Done(w.put("/views/infras/one/a", 3))
	w.has("one", 1, 3)
	w.put("/views/infras/one/b", 3) // it stood after all
	w.has("one", 2, 6)
	full("full of what is there", true)
}

// TestBytes: what makes objects larger is bounded, what doesn't isn't.
func TestBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Bytes: 3 << 10}, nil)
	w.put("/views/infras/one/a", 1<<10)
	w.start()
	if !w.LimitsBytes("one") || w.LimitsBytes("default") || New(Config{Limits: Limits{Objects: 1}}).LimitsBytes("one") {
		t.Error("who is limited")
	}
	create := func(size int) error {
		r, err := w.Create(t.Context(), "/infras/one/b", size)
		r.Done(0)
		return err
	}
	grow := func(more int) error {
		r, err := w.Grow(t.Context(), "/infras/one/a", more)
		r.Done(0)
		return err
	}
	var e *ExceededError
	if err := create(2<<10 + 1); !errors.As(err, &e) || *e != (ExceededError{"one", Bytes, 2<<10 + 1, 1 << 10, 3 << 10}) {
		t.Errorf("%+v", err)
	}
	if err := errors.Join(create(2<<10), grow(2<<10), grow(-1), grow(0)); err != nil {
		t.Error(err)
	}
	if err := grow(2<<10 + 1); !errors.As(err, &e) || e.Requested != 2<<10+1 {
		t.Errorf("%+v", err)
	}
	// Full beyond the bound, by writes that aren't refused.
	w.put("/views/infras/one/a", 4<<10)
	w.has("one", 1, 4<<10)
	if err := grow(1); err == nil {
		t.Error("it grows")
	}
	if err := errors.Join(grow(-5), grow(0)); err != nil {
		t.Error(err)
	}
}

// TestNotReady: before the first count writes wait, and are then told to try again.
func TestNotReady(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	w := newWorld(t, Limits{Objects: 2}, clock)
	if err := w.Ready(); !errors.Is(err, ErrNotReady) {
		t.Errorf("ready: %v", err)
	}
	if err := newWorld(t, Limits{}, clock).Ready(); err != nil {
		t.Errorf("without limits: %v", err)
	}
	errs := make(chan error, 1)
	go func() {
		_, err := w.Create(t.Context(), "/infras/one/a", 1)
		errs <- err
	}()
	for !clock.HasWaiters() {
		runtime.Gosched()
	}
	clock.Step(readyWait)
	if err := <-errs; !errors.Is(err, ErrNotReady) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Create(ctx, "/infras/one/a", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, _, _, err := w.Free(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, _, err := w.Take(ctx, "/infras/one/a", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go func() {
		_, err := w.Create(t.Context(), "/infras/one/a", 1)
		errs <- err
	}()
	w.start()
	if err := errors.Join(<-errs, w.Ready()); err != nil {
		t.Errorf("%v", err)
	}
}

// TestRoomOfIngest: an ingest and requests share the room.
func TestRoomOfIngest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Objects: 4, Bytes: 1000}, nil)
	w.put("/views/infras/one/a", 700)
	w.start()
	free := func(objects int, bytes int64) {
		t.Helper()
		if n, b, limited, err := w.Free(t.Context(), "one"); n != objects || b != bytes || !limited || err != nil {
			t.Errorf("%d of %d bytes free, %v, want %d, %d", n, b, err, objects, bytes)
		}
	}
	free(3, 300)
	r, err := w.Create(t.Context(), "/infras/one/b", 100)
	if err != nil {
		t.Fatal(err)
	}
	free(2, 200)
	// The record of an object that is being created shares its room.
	done, ok, err := w.Take(t.Context(), "/infras/one/b", 100)
	if !ok || err != nil {
		t.Fatal(err)
	}
	free(2, 200)
	done(0)
	if _, ok, err := w.Take(t.Context(), "/infras/one/large", 201); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	free(2, 200)
	r.Done(0)
	free(3, 300)
	done, ok, err = w.Take(t.Context(), "/infras/one/c", 201)
	if !ok || err != nil {
		t.Fatal(err)
	}
	done(w.put("/views/infras/one/c", 201))
	w.has("one", 2, 901)
	free(2, 99)
	if _, _, limited, err := w.Free(t.Context(), "default"); limited || err != nil {
		t.Errorf("the default workspace: %v %v", limited, err)
	}
	if n, b, _, _ := w.Free(t.Context(), "new"); n != 4 || b != 1000 {
		t.Errorf("a new one: %d, %d", n, b)
	}
	if done, ok, err := w.Take(t.Context(), "/others/one/a", 9999); !ok || err != nil {
		t.Error("what isn't counted has no room")
	} else {
		done(1)
	}
	w.put("/views/infras/one/d", 1)
	w.put("/views/infras/one/e", 1)
	w.has("one", 4, 903)
	if _, ok, _ := w.Take(t.Context(), "/infras/one/f", 1); ok {
		t.Error("there is room for a fifth")
	}
	if e := (&ExceededError{Workspace: "x", Limit: Bytes}).Error(); !strings.Contains(e, "workspace x") {
		t.Error(e)
	}
}
