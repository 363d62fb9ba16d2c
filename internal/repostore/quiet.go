package repostore

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// An idle PDS announces a commit late: the reference PDS's sequencer sleeps up to
// a second between its looks. So one replica looks itself, at the heads of the
// repositories that have been quiet, and brings the views up at once: watchers
// see an edit made elsewhere before the event source tells of it. While events
// flow, and on hosts without a budget, nobody looks.

// quiet is how long a repository must have announced nothing to be looked at; a
// busy sequencer announces within milliseconds.
const quiet = 200 * time.Millisecond

// looking looks at one quiet repository after another, LookRate times a second
// for each PDS host, while this replica is elected.
func (h *Hub) looking(ctx context.Context) error {
	ticker := h.clock.NewTicker(time.Duration(float64(time.Second) / h.lookRate))
	defer ticker.Stop()
	turn := map[string]int{}
	var looks sync.Map // hosts that are being looked at: one that hangs delays no other
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		hosts := map[string][]*mount{}
		for _, m := range h.allMounts() {
			if m.Access != AccessNone && m.Source != nil && m.Source.Connected() {
				hosts[m.Repo.Host()] = append(hosts[m.Repo.Host()], m)
			}
		}
		for host, mounts := range hosts {
			m := mounts[turn[host]%len(mounts)]
			turn[host]++
			if m.progress.quietFor(h.clock.Now()) < quiet {
				continue
			}
			if _, running := looks.LoadOrStore(host, true); running {
				continue
			}
			h.wg.Go(func() {
				defer looks.Delete(host)
				h.lookAt(ctx, m)
			})
		}
	}
}

// lookAt asks for one head. A failure is the barrier's and the ingest loop's to
// report: they ask with a need.
func (h *Hub) lookAt(ctx context.Context, m *mount) {
	head, err := m.latestHead(ctx)
	m.answered(head.Rev, err)
	if err != nil || m.progress.reached(head.Rev) {
		return
	}
	if err := m.reach(ctx, head.Rev, 0); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("A look found the views behind and could not bring them up", "atprotorepo", klog.KRef(m.Workspace, m.Name), "err", err)
	}
}
