package events

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// sleep waits; false when ctx ended before.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) bool {
	t := clk.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}
