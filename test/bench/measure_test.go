package bench

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// times of one side.
type times []time.Duration

func (t times) median() time.Duration { return measure.Times(t).Median() }

func (t times) String() string { return measure.Times(t).String() }

// turns measures both sides n times, taking turns, after a few for warmth.
func turns(b *testing.B, n int, ours, theirs func(ctx context.Context, i int) error) (o, t times) {
	b.Helper()
	out := measure.Turns(b, 5, n, measure.Timed(ours), measure.Timed(theirs))
	return times(out[0]), times(out[1])
}

func ratio(o, t time.Duration) float64 { return float64(o) / float64(t) }

func (e *env) list(ctx context.Context) error {
	_, err := e.client.SocialwebV1alpha1().Infras().List(ctx, metav1.ListOptions{})
	return err
}
