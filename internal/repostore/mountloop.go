package repostore

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// loop is when the ingest of a mount runs: from its start to its stop, on a goroutine
// that is there as long as there is something to do. A mount in whose repository
// nothing happens has neither goroutine nor timer, for there may be thousands.
type loop struct {
	mu      sync.Mutex // guards what follows, but for unsubscribe
	ctx     context.Context
	cancel  context.CancelFunc
	stopped bool
	running bool          // its goroutine is there
	work    chan struct{} // holds a token for the goroutine that is there

	// unsubscribe from the source; nil before the goroutine has run first. The
	// goroutine's.
	unsubscribe func()
}

func newLoop() loop { return loop{work: make(chan struct{}, 1)} }

// start lets the mount ingest until stop or the end of ctx, which the hub follows by a
// stop.
func (m *mount) start(ctx context.Context) {
	l := &m.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil || l.stopped {
		return
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	m.beginLocked(m.run)
}

// stop ends the ingest. It doesn't wait: the source may be calling us.
func (m *mount) stop() {
	l := &m.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.stopped {
		l.stopped = true
		return
	}
	l.stopped = true
	l.cancel()
	if !l.running {
		m.beginLocked(m.leave)
	}
}

// beginLocked runs f on the mount's goroutine. The hub waits for it: what is begun
// before the stop of a mount is, for it is under the same lock, begun before the hub
// waits.
func (m *mount) beginLocked(f func()) {
	m.loop.running = true
	m.hub.wg.Go(f)
}

// wake lets the goroutine look what there is to do, or a new one if there is none. It
// returns at once.
func (m *mount) wake() {
	l := &m.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx == nil || l.ctx.Err() != nil: // not begun: start looks; or ended
	case !l.running:
		m.beginLocked(m.run)
	default:
		select {
		case l.work <- struct{}{}:
		default: // there is a token already
		}
	}
}

// rests ends the goroutine unless it was woken meanwhile, or is to end for good.
func (l *loop) rests() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil || len(l.work) > 0 {
		return false
	}
	l.running = false
	return true
}

// run ingests what the source announces. Whatever fails stays in line and is tried
// again: soon while a write is in flight, later while the PDS is away. It returns when
// nothing is left to do.
func (m *mount) run() {
	l := &m.loop
	ctx := l.ctx // set before the first goroutine begins, and never again
	logger := klog.FromContext(ctx).WithValues("atprotorepo", klog.KRef(m.Workspace, m.Name), "did", m.Repo.DID())
	if m.Source != nil && l.unsubscribe == nil && ctx.Err() == nil {
		l.unsubscribe = m.Source.Subscribe(m.Repo.DID(), m.receive)
	}
	const soon, later, latest = 20 * time.Millisecond, 2 * time.Second, 15 * time.Second
	away := later // how long to leave the PDS alone after a failure, doubling
	told := false // a PDS that stays away is told of once
	for ctx.Err() == nil {
		select {
		case <-l.work:
		default:
		}
		err := m.catchUp(ctx)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			if told {
				logger.Info("Ingest goes on")
			}
			away, told = later, false
			if l.rests() {
				return
			}
			continue
		}
		wait := soon
		if !errors.Is(err, ErrBusy) {
			wait = away
			away = min(2*away, latest)
			if !told {
				logger.Error(err, "Ingest failed, will try again")
				told = true
			}
		}
		select {
		case <-ctx.Done():
		case <-l.work: // an event: the PDS may be back
		case <-m.hub.clock.After(max(wait, atproto.RetryAfter(err))):
		}
	}
	m.leave()
}

// leave is the last that the mount's goroutine does.
func (m *mount) leave() {
	if m.loop.unsubscribe != nil {
		m.loop.unsubscribe()
	}
}

// wakeEvery is how often mounts are looked at whose records wait for something that
// nobody announces: that a name becomes free, or that there is room.
const wakeEvery = 2 * time.Second

// wakingMounts wakes the mounts that have something to do and rest, until ctx ends.
// It asks nobody, and one timer serves all.
func (h *Hub) wakingMounts(ctx context.Context) {
	ticker := h.clock.NewTicker(wakeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, m := range h.allMounts() {
			if m.resting() && m.hasWork() {
				m.wake()
			}
		}
	}
}

func (m *mount) resting() bool {
	m.loop.mu.Lock()
	defer m.loop.mu.Unlock()
	return m.loop.ctx != nil && !m.loop.running
}

// hasWork tells whether catchUp would find anything.
func (m *mount) hasWork() bool {
	return m.progress.unsettled() || m.waits()
}

// waits tells whether records wait for a name or for room.
func (m *mount) waits() bool {
	m.mu.Lock()
	deferred := len(m.deferred)
	m.mu.Unlock()
	return deferred > 0 || len(m.wantingByKind()) > 0
}
