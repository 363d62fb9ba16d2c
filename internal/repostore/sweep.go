package repostore

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// sweeping sweeps once a second until ctx ends.
func (h *Hub) sweeping(ctx context.Context) {
	ticker := h.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			h.sweep(ctx, h.wg.Go)
		}
	}
}

// unsettled is an expired intent.
type unsettled struct {
	store *Store
	ref   objectRef
	uri   string
}

// sweep settles the intents whose owners are gone, so that none outlives its
// term. Every replica does; the settlement is idempotent. start runs the work of a
// workspace.
func (h *Hub) sweep(ctx context.Context, start func(func())) {
	if h.mountsLoaded() != nil {
		return
	}
	expired, open := map[string][]unsettled{}, map[string]bool{}
	over := 0
	err := h.eachKey(ctx, h.keys.intents(), func(key string, value []byte, modRevision int64) error {
		open[key] = true
		it, err := decodeIntent(value, modRevision)
		if err != nil || !h.expiry.expired(key, it, h.clock.Now()) {
			return err
		}
		over++
		objectKey := strings.TrimPrefix(key, strings.TrimSuffix(h.keys.intents(), "/"))
		for _, s := range h.allStores() {
			if strings.HasPrefix(objectKey, strings.TrimSuffix(s.resourcePrefix, "/")+"/") {
				ref := parseRef(s.resourcePrefix, objectKey)
				expired[ref.workspace] = append(expired[ref.workspace], unsettled{s, ref, it.URI})
			}
		}
		return nil
	})
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Can't read the open intents")
		}
		return
	}
	h.expiry.keep(open)
	h.intents.live.Store(int64(len(open) - over))
	h.intents.expired.Store(int64(over))
	// A workspace whose PDS doesn't answer keeps no other waiting: each has a round
	// of its own, and gets no second one while the first is under way.
	for ws, intents := range expired {
		if _, running := h.rounds.LoadOrStore(ws, true); running {
			continue
		}
		start(func() {
			defer h.rounds.Delete(ws)
			h.settleAll(ctx, intents)
		})
	}
}

func (h *Hub) settleAll(ctx context.Context, intents []unsettled) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, o := range intents {
		group.Go(func() error {
			m, uri, err := o.store.mountFor(o.ref.workspace, o.uri)
			if err == nil {
				err = o.store.ingest(ctx, m, uri.Key, ingestOptions{object: &o.ref})
			}
			if err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).V(2).Info("An expired intent can't be settled yet", "object", klog.KRef(o.ref.workspace, o.ref.name), "uri", o.uri, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
}
