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
			h.sweep(ctx)
		}
	}
}

// sweep settles the intents whose owners are gone, so that none outlives its
// term. Every replica does; the settlement is idempotent.
func (h *Hub) sweep(ctx context.Context) {
	if h.mountsLoaded() != nil {
		return
	}
	type open struct {
		s   *Store
		ref objectRef
		uri string
	}
	var expired []open
	err := h.eachKey(ctx, h.keys.intents(), func(key string, value []byte, modRevision int64) error {
		it, err := decodeIntent(value, modRevision)
		if err != nil || !it.expired(h.clock.Now()) {
			return err
		}
		objectKey := strings.TrimPrefix(key, strings.TrimSuffix(h.keys.intents(), "/"))
		for _, s := range h.allStores() {
			if strings.HasPrefix(objectKey, strings.TrimSuffix(s.resourcePrefix, "/")+"/") {
				expired = append(expired, open{s, parseRef(s.resourcePrefix, objectKey), it.URI})
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
	// One repository that doesn't answer must not keep the others waiting.
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, o := range expired {
		group.Go(func() error {
			m, uri, err := o.s.mountFor(o.ref.workspace, o.uri)
			if err == nil {
				err = o.s.ingest(ctx, m, uri.Key, ingestOptions{object: &o.ref})
			}
			if err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).V(2).Info("An expired intent can't be settled yet", "object", klog.KRef(o.ref.workspace, o.ref.name), "uri", o.uri, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
}
