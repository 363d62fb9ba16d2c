package repostore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// countingWatcher counts the looks at etcd. One that is silent never answers.
type countingWatcher struct {
	clientv3.Watcher
	looks  atomic.Int64
	silent atomic.Bool
	looked chan struct{} // if not nil: told of each look

	mu      sync.Mutex
	streams []string // of the looks, by what the client tells them apart
	shared  []string // of looks that are over, or of none: progress was asked for there
}

func (c *countingWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	c.looks.Add(1)
	c.mu.Lock()
	c.streams = append(c.streams, stream(ctx))
	c.mu.Unlock()
	if c.looked != nil {
		c.looked <- struct{}{}
	}
	if c.silent.Load() {
		return nil
	}
	return c.Watcher.Watch(ctx, key, opts...)
}

// stream that the client takes for a context.
func stream(ctx context.Context) string {
	md, _ := metadata.FromOutgoingContext(ctx)
	return fmt.Sprint(md)
}

func (c *countingWatcher) RequestProgress(ctx context.Context) error {
	c.mu.Lock()
	if s := stream(ctx); c.streams[len(c.streams)-1] != s {
		c.shared = append(c.shared, s)
	}
	c.mu.Unlock()
	if c.silent.Load() {
		return nil
	}
	return c.Watcher.RequestProgress(ctx)
}

// past is what etcd has of a resource in a test: 20 revisions, of which some are its.
type past struct {
	etcd    *countingWatcher
	history *history
	revs    []int64
}

// patientHistory is a history on a machine that may be slow: that isn't what is tested.
func patientHistory(etcd clientv3.Watcher, prefix string) *history {
	h := newHistory(etcd, prefix)
	h.bounds = historyBounds{look: patience, wait: patience, pause: patience}
	return h
}

func newPast(t *testing.T, its ...int) *past {
	t.Helper()
	w := newWorld(t)
	prefix := w.prefix + "/views" + testPrefix + "/"
	p := &past{etcd: &countingWatcher{Watcher: w.etcd.Watcher}}
	p.history = patientHistory(p.etcd, prefix)
	for i := range 20 {
		key := w.prefix + "/elsewhere"
		for _, n := range its {
			if n == i {
				key = prefix + "one/a"
			}
		}
		p.revs = append(p.revs, touch(t, w.etcd, key))
	}
	return p
}

// TestResumingAtOnce: however many come back at once, with whatever versions, etcd is
// asked once for all of them, whichever the answer.
func TestResumingAtOnce(t *testing.T) {
	const callers = 1000
	for name, c := range map[string]struct {
		its     []int // the resource's revisions
		from    []int // the versions that are come with
		compact bool
		silent  bool
		quiet   bool
	}{
		"nothing happened":                           {from: []int{3}, quiet: true},
		"something happened":                         {its: []int{9}, from: []int{3}},
		"something happened, after various versions": {its: []int{9}, from: []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		"much happened, between various versions":    {its: []int{2, 5, 9, 12}, from: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		"the last is what happened":                  {its: []int{15}, from: []int{3}},
		"it happened after the cache's begin":        {its: []int{3, 16}, from: []int{3}, quiet: true},
		"history is gone":                            {from: []int{1, 2, 3}, compact: true},
		"etcd doesn't answer":                        {from: []int{1, 2, 3}, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t, c.its...)
			to := p.revs[15]
			if c.compact {
				if _, err := sharedEtcd(t).Compact(t.Context(), p.revs[10]); err != nil {
					t.Fatal(err)
				}
			}
			if c.silent {
				p.etcd.silent.Store(true)
				p.history.bounds.look = time.Millisecond
			}
			var wg sync.WaitGroup
			var quiet atomic.Int64
			for i := range callers {
				wg.Go(func() {
					if p.history.quiet(t.Context(), p.revs[c.from[i%len(c.from)]], to) {
						quiet.Add(1)
					}
				})
			}
			wg.Wait()
			want := int64(0)
			if c.quiet {
				want = callers
			}
			if quiet.Load() != want {
				t.Errorf("%d of %d go on, want %d", quiet.Load(), callers, want)
			}
			if n := p.etcd.looks.Load(); n != 1 {
				t.Errorf("%d looks at etcd", n)
			}
		})
	}
}

// TestResumingRemembers: an answer holds for whom it concerns, and for nobody else.
func TestResumingRemembers(t *testing.T) {
	p := newPast(t, 2, 9, 17)
	for _, step := range []struct {
		name     string
		from, to int
		quiet    bool
		looks    int64 // so far
	}{
		{"over two changes", 1, 15, false, 1},
		{"over the second", 5, 15, false, 1},
		{"from the second on", 9, 15, true, 1}, // the first look went beyond
		{"later", 10, 15, true, 1},
		{"up to an older begin", 10, 14, true, 1},
		{"between the two", 3, 8, true, 2},
		{"over the second again", 3, 9, false, 2},
		{"up to a newer begin", 10, 16, true, 3},
		{"over the third", 10, 19, false, 4},
		{"after it", 17, 19, true, 5},
	} {
		if got := p.history.quiet(t.Context(), p.revs[step.from], p.revs[step.to]); got != step.quiet {
			t.Errorf("%s: quiet is %t", step.name, got)
		}
		if n := p.etcd.looks.Load(); n != step.looks {
			t.Errorf("%s: %d looks at etcd, want %d", step.name, n, step.looks)
		}
	}
}

// TestResumingAsksOnItsOwnStream: the progress that one look asks for isn't told to the watch
// of another, which it could overtake the events of.
func TestResumingAsksOnItsOwnStream(t *testing.T) {
	p := newPast(t, 2)
	another := patientHistory(p.etcd, p.history.prefix+"another/")
	for _, h := range []*history{p.history, another, p.history, another} {
		n := len(p.etcd.streams)
		if !h.quiet(t.Context(), p.revs[15-n], p.revs[19-n]) {
			t.Errorf("look %d: something happened", n)
		}
	}
	slices.Sort(p.etcd.streams)
	if distinct := slices.Compact(slices.Clone(p.etcd.streams)); len(distinct) != 4 || len(p.etcd.shared) > 0 {
		t.Errorf("streams %q, others' %q", p.etcd.streams, p.etcd.shared)
	}
}

// TestResumingWaitIsBounded: who waits for another's look doesn't wait beyond its own
// request, nor for long.
func TestResumingWaitIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		wait time.Duration
		left bool // the client
	}{
		"the client left": {wait: time.Hour, left: true},
		"too long":        {wait: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			p.history.bounds.wait = c.wait
			p.history.look <- struct{}{} // somebody looks
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.left {
				cancel()
			}
			if p.history.quiet(ctx, p.revs[3], p.revs[15]) || p.etcd.looks.Load() != 0 {
				t.Errorf("it went on, after %d looks at etcd", p.etcd.looks.Load())
			}
			<-p.history.look
			p.history.bounds.wait = patience // else it is over at once on a slow machine
			if !p.history.quiet(t.Context(), p.revs[3], p.revs[15]) {
				t.Error("the next one is refused")
			}
		})
	}
}

// TestResumingClientLeaves: a client that leaves while etcd is asked for it doesn't
// make the others be refused.
func TestResumingClientLeaves(t *testing.T) {
	p := newPast(t)
	p.etcd.silent.Store(true)
	p.etcd.looked = make(chan struct{}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan bool)
	go func() { first <- p.history.quiet(ctx, p.revs[3], p.revs[15]) }()
	<-p.etcd.looked
	cancel()
	if <-first {
		t.Error("it went on without an answer")
	}
	p.etcd.silent.Store(false)
	if !p.history.quiet(t.Context(), p.revs[3], p.revs[15]) {
		t.Error("the next one is refused")
	}
}
