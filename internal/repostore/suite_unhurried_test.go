package repostore

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Some cases of upstream give a call, a bookmark or a buffer seconds. What comes late on
// a busy machine isn't what they test: here they wait for it.

// unhurried is for a case whose context ends after some seconds: its calls end with the
// test.
type unhurried struct {
	suiteStore
	t *testing.T
}

func (s unhurried) untilEnd(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.t.Cleanup(cancel)
	return ctx
}

func (s unhurried) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return s.suiteStore.Create(s.untilEnd(ctx), key, obj, out, ttl)
}

func (s unhurried) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	return s.suiteStore.Watch(s.untilEnd(ctx), key, opts)
}

// bookmarked is for a case that wants a bookmark of the Cacher before a deadline. The
// Cacher sends one every minute of its clock, which passes with each creation; a watch
// ends once its deadline is over and it has had one.
type bookmarked struct {
	unhurried
	awaited bool // a creation returns when they are there
	watches []*bookmarkedWatch
}

type bookmarkedWatch struct {
	watch.Interface
	out  chan watch.Event
	seen chan struct{} // closed by the first bookmark
}

func (s *bookmarked) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	end := s.untilEnd(ctx)
	w, err := s.suiteStore.Watch(end, key, opts)
	if err != nil || s.env.delegator == nil || !opts.Predicate.AllowWatchBookmarks {
		return w, err
	}
	b := &bookmarkedWatch{Interface: w, out: make(chan watch.Event, 1000), seen: make(chan struct{})}
	s.watches = append(s.watches, b)
	go b.follow()
	go func() {
		<-ctx.Done()
		select {
		case <-b.seen:
		case <-end.Done():
		}
		b.Stop()
	}()
	return b, nil
}

// follow ends with the watch.
func (b *bookmarkedWatch) follow() {
	defer close(b.out)
	for e := range b.Interface.ResultChan() {
		b.out <- e
		if e.Type == watch.Bookmark && !b.has() {
			close(b.seen)
		}
	}
}

func (b *bookmarkedWatch) has() bool {
	select {
	case <-b.seen:
		return true
	default:
		return false
	}
}

// ResultChan implements watch.Interface.
func (b *bookmarkedWatch) ResultChan() <-chan watch.Event { return b.out }

func (s *bookmarked) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.unhurried.Create(ctx, key, obj, out, ttl); err != nil || s.env.delegator == nil {
		return err
	}
	s.env.clock.jump(time.Minute)
	for _, w := range s.watches {
		if s.awaited {
			eventually(s.t, "a bookmark", func() bool { s.env.clock.jump(time.Minute); return w.has() })
		}
	}
	return nil
}

// delayed is for a case that takes nothing from its watch for a while, and then gives it
// a second to fill its buffer.
type delayed struct {
	suiteStore
	t       *testing.T
	watch   watch.Interface
	written int
}

// heldByWatch is how many events a watch holds at least for whoever takes them later.
const heldByWatch = 10

func (s *delayed) holds(n int) {
	s.t.Helper()
	eventually(s.t, "the events in the watch", func() bool { return len(s.watch.ResultChan()) >= n })
}

func (s *delayed) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := s.suiteStore.Watch(ctx, key, opts)
	s.watch = w
	return delayedWatch{w, s}, err
}

func (s *delayed) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	if err := s.suiteStore.GuaranteedUpdate(ctx, key, out, ignoreNotFound, pre, update, cached); err != nil {
		return err
	}
	s.written++
	s.holds(min(s.written, heldByWatch))
	return nil
}

type delayedWatch struct {
	watch.Interface
	of *delayed
}

// Stop implements watch.Interface.
func (w delayedWatch) Stop() {
	w.of.holds(heldByWatch)
	w.Interface.Stop()
}
