package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// times of one side.
type times []time.Duration

func (t times) median() time.Duration { return t.at(0.5) }

func (t times) at(q float64) time.Duration {
	s := slices.Clone(t)
	slices.Sort(s)
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func (t times) String() string {
	return fmt.Sprintf("%s (p95 %s)", round(t.median()), round(t.at(0.95)))
}

func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(10 * time.Microsecond)
	}
}

// turns measures both sides n times, taking turns, after a few for warmth.
func turns(b *testing.B, n int, ours, theirs func(ctx context.Context, i int) error) (o, t times) {
	b.Helper()
	const warm = 5
	for i := range n + warm {
		for side, f := range []func(context.Context, int) error{ours, theirs} {
			begin := time.Now()
			if err := f(b.Context(), i); err != nil {
				b.Fatal(err)
			}
			d := time.Since(begin)
			switch {
			case i < warm:
			case side == 0:
				o = append(o, d)
			default:
				t = append(t, d)
			}
		}
	}
	return o, t
}

func ratio(o, t time.Duration) float64 { return float64(o) / float64(t) }

func (e *env) list(ctx context.Context) error {
	_, err := e.client.SocialwebV1alpha1().Infras().List(ctx, metav1.ListOptions{})
	return err
}
