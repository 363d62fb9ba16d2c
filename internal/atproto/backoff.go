package atproto

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"
)

// readBackoff is the pause before a query is tried again: 50 to 150 ms, then
// twice that, and so on. It is short because a person waits behind it.
func readBackoff(attempt int) time.Duration {
	base := 100 * time.Millisecond << min(attempt-1, 5)
	return base/2 + rand.N(base)
}

// sleep waits on clk, or until ctx ends.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := clk.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
