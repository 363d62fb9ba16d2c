package repostore

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A write whose outcome nobody knows says when to send it again, unless that would do
// something else.
func TestUnknownOutcomeIsSentAgain(t *testing.T) {
	r := alone(t)
	patched := aWidget("p", "x")
	if _, err := r.create(r.ctx(), patched); err != nil {
		t.Fatal(err)
	}
	r.repo.setDown(atproto.ErrUnknownOutcome)
	generated := aWidget("g-1", "x")
	generated.GenerateName = "g-"
	for _, c := range []struct {
		name  string
		write func() error
		again bool
	}{
		{"a creation", func() error { _, err := r.create(r.ctx(), aWidget("c", "x")); return err }, true},
		{"one by generateName", func() error { _, err := r.create(r.ctx(), generated); return err }, false},
		{"an update that is sent once", func() error {
			_, err := r.update(Once(r.ctx()), "p", "", func(w *widget) error { w.Spec.Text = "once"; return nil })
			return err
		}, false},
	} {
		err := c.write()
		if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTimeout(err) || ok != c.again || ok && seconds < 1 {
			t.Errorf("%s: %v, again after %d s: %t", c.name, err, seconds, ok)
		}
	}
}

// What is refused, or can't be sent at all, is as it was.
func TestWhatIsKnownIsSentAgain(t *testing.T) {
	ctx := Once(context.Background())
	for _, err := range []error{nil, unavailable(atproto.ErrUnavailable), apierrors.NewConflict(noResource, "a", ErrContended)} {
		if got := notAgain(ctx, runtime.Object(nil), err); got != err { //nolint:errorlint // the same
			t.Errorf("%v became %v", err, got)
		}
	}
}
