package testhttp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testwait"
)

const (
	// longestLine of a watch, in bytes: an object of the largest size fits.
	longestLine = 16 << 20
	// unread is how many events a watch keeps before it reads on only as they are taken.
	unread = 10_000
	// Bookmark is the type of events that tell of no change.
	Bookmark = "BOOKMARK"
)

// Event is a line of a watch.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string `json:"type"`
	// Object as it came.
	Object json.RawMessage `json:"object"`
}

// Watch is an open watch, which is read as it comes. A goroutine reads it, and ends with
// the test, or when the server ends the watch.
type Watch struct {
	path   string
	events chan Event

	mu    sync.Mutex // guards what follows
	lines []string   // every one
	err   error      // why it ended
}

// Watch opens a watch. The test fails where it is refused.
func (c Client) Watch(t testing.TB, r Request) *Watch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := c.Open(ctx, r) //nolint:bodyclose // the goroutine closes it
	if err != nil {
		cancel()
		t.Fatalf("watch %s: %v", r.Path, err)
	}
	if resp.StatusCode != http.StatusOK {
		a, err := Read(resp)
		cancel()
		t.Fatalf("watch %s: %d %s %v", r.Path, a.Status, a.Body, err)
	}
	w := &Watch{path: r.Path, events: make(chan Event, unread)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.events)
		defer resp.Body.Close() //nolint:errcheck // it was read
		w.read(ctx, resp)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// read hands on the events until the watch, or ctx, ends.
func (w *Watch) read(ctx context.Context, resp *http.Response) {
	err := Lines(resp, func(line []byte) error {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%w in %.1000s", err, line)
		}
		w.mu.Lock()
		w.lines = append(w.lines, string(line))
		w.mu.Unlock()
		select {
		case w.events <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// Lines calls each for every line of a body, until it ends or each returns an error. The
// line is of that call alone.
func Lines(resp *http.Response, each func(line []byte) error) error {
	body, err := unpacked(resp)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Seen is every line so far, also of events that nobody has taken.
func (w *Watch) Seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// Err is why the watch ended; nil: it goes on, or the server ended it in good order.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Next is the next event; false: the watch has ended, or none came for as long.
func (w *Watch) Next(atMost time.Duration) (Event, bool) {
	select {
	case e, ok := <-w.events:
		return e, ok
	case <-time.After(atMost):
		return Event{}, false
	}
}

// Until takes events up to one that is as wanted. The test fails when the watch ends
// before, and when no event but bookmarks comes for as long as testwait.Patience.
func (w *Watch) Until(t testing.TB, what string, ok func(Event) bool) Event {
	t.Helper()
	late := time.NewTimer(testwait.Patience)
	defer late.Stop()
	for {
		select {
		case e, more := <-w.events:
			switch {
			case !more:
				t.Fatalf("the watch %s ended before %s: %v; after %.3000q", w.path, what, w.Err(), w.Seen())
			case ok(e):
				return e
			case e.Type != Bookmark:
				late.Reset(testwait.Patience)
			}
		case <-late.C:
			t.Fatalf("the watch %s did not show %s, but %.3000q", w.path, what, w.Seen())
		}
	}
}

// WatchAll reads a watch until the server ends it. The test fails where it is refused, or
// ends otherwise.
func (c Client) WatchAll(t testing.TB, r Request) []Event {
	t.Helper()
	w := c.Watch(t, r)
	var out []Event
	for e := range w.events {
		out = append(out, e)
	}
	if err := w.Err(); err != nil {
		t.Fatalf("watch %s: %v", r.Path, err)
	}
	return out
}
