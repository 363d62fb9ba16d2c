package repostore

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// publishAtOnce is how many statuses of one workspace are published at once.
const publishAtOnce = 4

// publishLines are the publisher's lines: one queue for the delays and the repeats of
// all objects, and for each workspace in which something is published a line of its
// own. One whose PDS hangs keeps no other tenant waiting, and one in which nothing
// happens has neither line nor goroutine.
type publishLines struct {
	hub   *Hub
	queue workqueue.TypedRateLimitingInterface[item]

	mu    sync.Mutex              // guards lines and what they hold
	lines map[string]*publishLine // by workspace, while somebody works there
}

// publishLine is the line of one workspace.
type publishLine struct {
	working int    // goroutines
	waiting []item // in the order in which they came
}

// newPublishLines makes lines that are worked off until queue is shut down.
func (h *Hub) newPublishLines(ctx context.Context) *publishLines {
	l := &publishLines{
		hub: h, lines: map[string]*publishLine{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[item](200*time.Millisecond, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[item]{Clock: h.clock}),
	}
	h.wg.Go(func() {
		for {
			it, stop := l.queue.Get()
			if stop {
				return
			}
			l.lineUp(ctx, it)
		}
	})
	return l
}

// lineUp gives an item to a goroutine of its workspace, or lets it wait for one.
func (l *publishLines) lineUp(ctx context.Context, it item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[it.ref.workspace]
	if line == nil {
		line = &publishLine{}
		l.lines[it.ref.workspace] = line
	}
	if line.working == publishAtOnce {
		line.waiting = append(line.waiting, it)
		return
	}
	line.working++
	l.hub.wg.Go(func() {
		for more := true; more; it, more = l.next(it.ref.workspace, line) {
			l.hub.publishItem(ctx, l.queue, it)
			l.queue.Done(it)
		}
	})
}

// next is what a goroutine of a line does next; false: nothing, and it ends.
func (l *publishLines) next(workspace string, line *publishLine) (it item, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(line.waiting) > 0 {
		it, line.waiting = line.waiting[0], line.waiting[1:]
		return it, true
	}
	if line.working--; line.working == 0 {
		delete(l.lines, workspace)
	}
	return item{}, false
}
