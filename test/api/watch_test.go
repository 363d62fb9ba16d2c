package api

import (
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// watching is an open watch, read as it comes.
type watching struct{ *testhttp.Watch }

// watchEvent is one line of a watch.
type watchEvent testhttp.Event

// infra is the event's object.
func (e watchEvent) infra(t testing.TB) *v1alpha1.Infra {
	t.Helper()
	i := decode[v1alpha1.Infra](t, string(e.Object))
	return &i
}

// watch opens a watch of a path with its query. It ends with the test.
func (s *server) watch(t *testing.T, path string) *watching {
	t.Helper()
	return &watching{s.sender().Watch(t, request{path: path}.plain())}
}

// next is the next event; false: the watch ended, or nothing came.
func (w *watching) next(timeout time.Duration) (watchEvent, bool) {
	e, ok := w.Next(timeout)
	return watchEvent(e), ok
}

// until reads events up to an Infra's that is as wanted, and returns that.
func (w *watching) until(t testing.TB, name string, ok func(*v1alpha1.Infra) bool) watchEvent {
	t.Helper()
	return watchEvent(w.Until(t, "what was waited for of "+name, func(e testhttp.Event) bool {
		if e.Type == testhttp.Bookmark || e.Type == "ERROR" {
			return false
		}
		i := watchEvent(e).infra(t)
		return i.Name == name && ok(i)
	}))
}

// untilType reads events up to one of a type, of the object name.
func (w *watching) untilType(t testing.TB, kind, name string) watchEvent {
	t.Helper()
	return watchEvent(w.Until(t, kind+" of "+name, func(e testhttp.Event) bool {
		return e.Type == kind && watchEvent(e).infra(t).Name == name
	}))
}
