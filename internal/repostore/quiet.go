package repostore

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
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
	var hosts map[string][]*mount
	var found time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if now := h.clock.Now(); now.Sub(found) >= hostsEvery {
			hosts, found = h.connectedByHost(), now
			maps.DeleteFunc(turn, func(host string, _ int) bool { return hosts[host] == nil })
		}
		for host, mounts := range hosts {
			m := mounts[turn[host]%len(mounts)]
			turn[host]++
			if h.mountNamed(m.Workspace, m.Name) != m {
				continue // another has its place since
			}
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

// hostsEvery is how often those that can be looked at are found anew: there may be
// thousands, and a look is at one of them.
const hostsEvery = time.Second

// connectedByHost are the mounts whose event source is connected.
func (h *Hub) connectedByHost() map[string][]*mount {
	hosts := map[string][]*mount{}
	for _, m := range h.allMounts() {
		if m.Access != AccessNone && m.Source != nil && m.Source.Connected() {
			hosts[m.Repo.Host()] = append(hosts[m.Repo.Host()], m)
		}
	}
	return hosts
}

// lookAt asks for one head. A failure is the barrier's and the ingest loop's to
// report: they ask with a need.
func (h *Hub) lookAt(ctx context.Context, m *mount) {
	head, err := m.latestHead(atproto.Housekeeping(ctx))
	m.answered(head.Rev, err)
	if err != nil || m.progress.reached(head.Rev) {
		return
	}
	if err := m.reach(ctx, head.Rev, 0); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("A look found the views behind and could not bring them up", "atprotorepo", klog.KRef(m.Workspace, m.Name), "err", err)
	}
}
