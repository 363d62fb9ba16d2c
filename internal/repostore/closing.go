package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// accepts refuses new bindings to an AtprotoRepo that is being deleted: an object
// that is bound after the last look for users would lose its repository.
func (h *Hub) accepts(ws, name string) error {
	if m := h.mountNamed(ws, name); m != nil && m.Closing {
		return beingDeleted(name)
	}
	return nil
}

func beingDeleted(name string) error {
	return fmt.Errorf("%w: AtprotoRepo %q is being deleted", ErrBinding, name)
}

// Writing tells whether a write of a record of this account, by any replica, has
// begun in the workspace and not ended: its object may not be in the views yet.
func (h *Hub) Writing(ctx context.Context, workspace, did string) (bool, error) {
	for _, s := range h.allStores() {
		below := s.keys.intent(makeRef(s.resourcePrefix, workspace, ""))
		resp, err := h.etcd.Get(ctx, below, clientv3.WithPrefix())
		if err != nil {
			return false, fmt.Errorf("writes in flight: %w", err)
		}
		for _, kv := range resp.Kvs {
			it, err := decodeIntent(kv.Value, kv.ModRevision)
			if err != nil {
				return false, err
			}
			if uri, ok := parseURI(it.URI); ok && uri.did == did {
				return true, nil
			}
		}
	}
	return false, nil
}
