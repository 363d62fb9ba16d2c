package contracttest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

// patience is how long a case waits, for an event or an answer, before it fails.
const patience = testwait.Patience

// recorder keeps the events that a handler got.
type recorder struct {
	mu     sync.Mutex
	events []events.Event
	more   chan struct{}
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{}, 1)} }

func (r *recorder) handle(e events.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *recorder) all() []events.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// commits are the Commit events.
func (r *recorder) commits() []events.Event {
	return slices.DeleteFunc(r.all(), func(e events.Event) bool { return e.Kind != events.Commit })
}

// wait waits for an event that matches and returns the first.
func (r *recorder) wait(t *testing.T, what string, match func(events.Event) bool) events.Event {
	t.Helper()
	deadline := time.After(patience)
	for {
		if all := r.all(); slices.ContainsFunc(all, match) {
			return all[slices.IndexFunc(all, match)]
		}
		select {
		case <-r.more:
		case <-deadline:
			t.Fatalf("no event: %s; got %+v", what, r.all())
		}
	}
}

// waitRev waits for the commit of this rev.
func (r *recorder) waitRev(t *testing.T, rev string) events.Event {
	t.Helper()
	return r.wait(t, "commit "+rev, func(e events.Event) bool { return e.Rev == rev })
}

// run runs a source until the test ends or stop is called.
func run(t *testing.T, s events.Source) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// firehose runs a firehose that starts at cursor and records did's events.
func (e *env) firehose(t *testing.T, did string, keys atproto.KeyResolver, cursor int64) (*events.Firehose, *recorder, func()) {
	t.Helper()
	f, err := events.NewFirehose(events.FirehoseOptions{
		Stream: events.Stream{URL: e.URL, Collections: []string{collection}, Dialer: atproto.NewDialer(true)},
		Keys:   keys, Cursor: cursor,
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	f.Subscribe(did, rec.handle)
	stop := run(t, f)
	rec.wait(t, "the first Gap", func(e events.Event) bool { return e.Kind == events.Gap })
	return f, rec, stop
}

// listening runs a firehose that has received its first commit, so that it has
// a cursor and knows the repository's rev.
func (e *env) listening(t *testing.T, c *atproto.Client, keys atproto.KeyResolver) (*events.Firehose, *recorder, func()) {
	t.Helper()
	f, rec, stop := e.firehose(t, c.DID(), keys, 0)
	heard(t, c, rec)
	return f, rec, stop
}
