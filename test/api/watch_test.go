package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// watching is an open watch, read as it comes.
type watching struct {
	events chan watchEvent
}

// watchEvent is one line of a watch; raw is the object.
type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// infra is the event's object.
func (e watchEvent) infra(t testing.TB) *v1alpha1.Infra {
	t.Helper()
	i := decode[v1alpha1.Infra](t, string(e.Object))
	return &i
}

// watch opens a watch of a path with its query. It ends with the test.
func (s *server) watch(t *testing.T, path string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := s.open(ctx, t, request{path: path}) //nolint:bodyclose // it is read, and closed, by the watch
	if err != nil {
		cancel()
		t.Fatalf("watch %s: %v", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		cancel()
		_ = resp.Body.Close()
		t.Fatalf("watch %s: %s", path, resp.Status)
	}
	w := &watching{events: make(chan watchEvent, 10_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.events)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var e watchEvent
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				w.events <- e
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
		<-done
	})
	return w
}

// next is the next event; false: the watch ended, or nothing came.
func (w *watching) next(timeout time.Duration) (watchEvent, bool) {
	select {
	case e, ok := <-w.events:
		return e, ok
	case <-time.After(timeout):
		return watchEvent{}, false
	}
}

// until reads events up to an Infra's that is as wanted, and returns that.
func (w *watching) until(t testing.TB, name string, ok func(*v1alpha1.Infra) bool) watchEvent {
	t.Helper()
	for {
		e, more := w.next(patience)
		if !more {
			t.Fatalf("the watch showed nothing of %s that was waited for", name)
		}
		if e.Type == "BOOKMARK" || e.Type == "ERROR" {
			continue
		}
		if i := e.infra(t); i.Name == name && ok(i) {
			return e
		}
	}
}

// untilType reads events up to one of a type, of the object name.
func (w *watching) untilType(t testing.TB, kind, name string) watchEvent {
	t.Helper()
	for {
		e, more := w.next(patience)
		if !more {
			t.Fatalf("the watch showed no %s of %s", kind, name)
		}
		if e.Type == kind && e.infra(t).Name == name {
			return e
		}
	}
}
