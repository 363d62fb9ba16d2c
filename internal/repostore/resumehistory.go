package repostore

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// progressInterval is between two questions how far a look has come.
const progressInterval = 10 * time.Millisecond

// historyBounds keep the question about the past from being worse than a 410.
type historyBounds struct {
	look time.Duration // for a look at etcd's history
	// wait is for others' looks: a watch that waits holds a seat that the requests of
	// others need.
	wait time.Duration
	// pause is between a look that got no answer and the next: those who wait for the
	// same are told 410 instead.
	pause time.Duration
}

var resumeBounds = historyBounds{look: 2 * time.Second, wait: time.Second, pause: 5 * time.Second}

// history tells of a resource whether anything happened to it between two revisions.
// etcd takes its time for a look at the past, however little is there, and after a
// restart everybody wants one at once. So there is one at a time, and whatever it
// shows, yes or no, answers all whom it concerns.
type history struct {
	etcd   clientv3.Watcher
	prefix string // of the resource's keys
	bounds historyBounds
	look   chan struct{} // holds an element while somebody looks

	mu sync.Mutex // guards what follows; not held while etcd is asked
	// Nothing happened after the revision from, up to the revision to.
	from, to int64
	// Something happened at the revision event: of those that were seen, the last.
	event int64
	// What was before the revision compacted isn't known any more.
	compacted int64
	// No look before then: the last one got no answer.
	pause time.Time
}

func newHistory(etcd clientv3.Watcher, prefix string) *history {
	return &history{etcd: etcd, prefix: prefix, bounds: resumeBounds, look: make(chan struct{}, 1)}
}

// quiet tells whether nothing happened after from, up to to. Where that can't be
// told, something may have.
func (h *history) quiet(ctx context.Context, from, to int64) bool {
	if quiet, known := h.known(from, to); known {
		return quiet
	}
	wait := time.NewTimer(h.bounds.wait)
	defer wait.Stop()
	select {
	case h.look <- struct{}{}:
		defer func() { <-h.look }()
	case <-wait.C:
		return false
	case <-ctx.Done():
		return false
	}
	// Whoever looked before may have seen it.
	if quiet, known := h.known(from, to); known {
		return quiet
	}
	answered := h.ask(ctx, from, to)
	if !answered && ctx.Err() == nil { // a client that left says nothing of etcd
		h.mu.Lock()
		h.pause = time.Now().Add(h.bounds.pause)
		h.mu.Unlock()
	}
	quiet, known := h.known(from, to)
	return known && quiet
}

// known is what quiet can tell without a look.
func (h *history) known(from, to int64) (quiet, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.from != 0 && h.from <= from && to <= h.to:
		return true, true
	case from < h.event && h.event <= to, from+1 < h.compacted:
		return false, true
	}
	return false, time.Now().Before(h.pause)
}

// ask looks at what etcd has after from, up to to, and remembers it. It tells whether
// etcd has answered.
func (h *history) ask(ctx context.Context, from, to int64) bool {
	ctx, cancel := context.WithTimeout(ctx, h.bounds.look)
	defer cancel()
	ctx = ownStream(ctx)
	past := h.etcd.Watch(ctx, h.prefix, clientv3.WithPrefix(), clientv3.WithRev(from+1), clientv3.WithProgressNotify())
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if h.etcd.RequestProgress(ctx) != nil {
				return false
			}
		case <-ctx.Done():
			return false
		case resp, open := <-past:
			switch {
			case !open:
				return false
			case resp.CompactRevision != 0:
				h.mu.Lock()
				h.compacted = max(h.compacted, resp.CompactRevision)
				h.mu.Unlock()
				return true
			case resp.Err() != nil:
				return false
			case len(resp.Events) > 0 || resp.IsProgressNotify() && resp.Header.Revision >= to:
				h.learn(resp.Events, from, to)
				return true
			}
		}
	}
}

// looks counts those of this process.
var looks atomic.Uint64

// ownStream is a context whose watch has a stream to etcd for itself. The client shares
// one among all whose contexts have the same metadata, and progress is told to all of
// them: what an earlier look has asked for could come to a watch that has just begun,
// before its events, and would pass for there being none.
func ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "infra-look", strconv.FormatUint(looks.Add(1), 10))
}

// learn takes in the first events after from, in their order. None: there was nothing
// up to to.
func (h *history) learn(events []*clientv3.Event, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := len(events) == 0
	for _, e := range events {
		if e.Kv.ModRevision > to {
			whole = true
			break
		}
		// Everything after the last one is as good a version to go on from.
		from = e.Kv.ModRevision
		h.event = max(h.event, from)
	}
	if whole {
		h.from, h.to = from, to
	}
}
