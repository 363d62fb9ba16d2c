package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch begins to watch objects of a kind, as the typed clients do it.
type Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)

// errAwaited is why Await has to go on.
var errAwaited = errors.New("it isn't there yet")

// Await watches an object of a name until ask has no objection, and returns it. It
// costs the server one watch, and no PDS a question. The test fails where that takes
// longer than a start may.
func Await[T any](t testing.TB, begin Watch, name string, ask func(T) error) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	last := errAwaited
	for {
		found, err := awaitOnce(ctx, begin, name, func(o T) bool {
			last = ask(o)
			return last == nil
		})
		if found != nil {
			return *found
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v (%v)", name, last, err)
		}
		if err != nil { // the server, or the right to watch, may be on its way
			last = Explain(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// awaitOnce reads one watch; nil: it ended before, perhaps without an error.
func awaitOnce[T any](ctx context.Context, begin Watch, name string, is func(T) bool) (*T, error) {
	w, err := begin(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-w.ResultChan():
			if !ok {
				return nil, nil //nolint:nilnil // it ended, and another begins
			}
			if e.Type == watch.Deleted || e.Type == watch.Bookmark {
				continue
			}
			o, isIt := e.Object.(T)
			if !isIt {
				return nil, fmt.Errorf("%s %v", e.Type, e.Object)
			}
			if is(o) {
				return &o, nil
			}
		}
	}
}
