package events

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// complaintEvery is how often what a service sends is complained of.
const complaintEvery = 10 * time.Second

// complaints log what a service sends that can't be used, once in a while: how much that
// is, is the word of whoever runs it, and a tenant may.
type complaints struct {
	mu      sync.Mutex // guards what follows
	next    time.Time
	leftOut int // since the last that was logged
}

func (c *complaints) log(ctx context.Context, now clock.PassiveClock, err error, text string, more ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Now().Before(c.next) {
		c.leftOut++
		return
	}
	klog.FromContext(ctx).Error(err, text, append(more, "leftOut", c.leftOut)...)
	c.next, c.leftOut = now.Now().Add(complaintEvery), 0
}
