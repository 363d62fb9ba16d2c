// Package measure is what the benchmarks share: measuring sides that take turns, and
// the report.
package measure

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Times of one side.
type Times []time.Duration

// Median of them.
func (t Times) Median() time.Duration { return t.At(0.5) }

// Mean of them.
func (t Times) Mean() time.Duration {
	var sum time.Duration
	for _, d := range t {
		sum += d
	}
	return sum / time.Duration(max(1, len(t)))
}

// At is the time that a share of them, between 0 and 1, doesn't exceed.
func (t Times) At(share float64) time.Duration {
	s := slices.Clone(t)
	slices.Sort(s)
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

// String is the median and the 95th percentile.
func (t Times) String() string {
	return fmt.Sprintf("%s (p95 %s)", Round(t.Median()), Round(t.At(0.95)))
}

// Round leaves three digits or so.
func Round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(10 * time.Microsecond)
	}
}

// Side does something for the i-th time and says how long it took.
type Side func(ctx context.Context, i int) (time.Duration, error)

// Timed is a side that takes as long as f.
func Timed(f func(ctx context.Context, i int) error) Side {
	return func(ctx context.Context, i int) (time.Duration, error) {
		begin := time.Now()
		err := f(ctx, i)
		return time.Since(begin), err
	}
}

// Turns measures every side n times, after warm times that don't count. They take
// turns, and each is as often the first: what else the machine does hits all alike.
func Turns(b *testing.B, warm, n int, sides ...Side) []Times {
	b.Helper()
	out := make([]Times, len(sides))
	for i := range warm + n {
		for j := range sides {
			side := (i + j) % len(sides)
			d, err := sides[side](b.Context(), i)
			if err != nil {
				b.Fatal(err)
			}
			if i >= warm {
				out[side] = append(out[side], d)
			}
		}
	}
	return out
}
