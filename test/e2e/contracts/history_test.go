//go:build e2e

package contracts

import (
	"context"
	"errors"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// history is every state that objects were in, as a watch tells it: it misses none.
type history[T any] struct {
	mu     sync.Mutex // guards what follows
	events []event[T]
	broken error // the watch ended too early
}

type event[T any] struct {
	kind   watch.EventType
	object T
}

// follow begins a history at a resourceVersion. It ends with the test.
func follow[T any](t *testing.T, begin harness.Watch, o metav1.ListOptions) *history[T] {
	t.Helper()
	w, err := begin(t.Context(), o)
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	h := &history[T]{}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.read(ctx, w)
	}()
	t.Cleanup(func() {
		end()
		<-done
	})
	return h
}

func (h *history[T]) read(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.ResultChan():
			o, isIt := e.Object.(T)
			h.mu.Lock()
			if !ok || !isIt {
				h.broken = errors.New("the watch of the history ended")
				h.mu.Unlock()
				return
			}
			h.events = append(h.events, event[T]{e.Type, o})
			h.mu.Unlock()
		}
	}
}

// all that has happened so far.
func (h *history[T]) all() ([]event[T], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]event[T]{}, h.events...), h.broken
}

// await waits until an event is as it should be.
func (h *history[T]) await(t *testing.T, what string, is func(event[T]) bool) {
	t.Helper()
	harness.Eventually(t, func(context.Context) error {
		all, err := h.all()
		for _, e := range all {
			if is(e) {
				return nil
			}
		}
		return errors.Join(errors.New("not seen: "+what), err)
	})
}
