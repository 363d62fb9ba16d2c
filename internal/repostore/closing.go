package repostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
)

// An AtprotoRepo that is being deleted gets no new objects: one that is bound after
// the last look for users would lose its repository. Each replica learns of the
// deletion from its own watch, which may lag. So whoever lets the AtprotoRepo go
// writes a key in etcd before it looks, and every transaction that binds an object
// to a repository compares that key's absence. The key names the AtprotoRepo by its
// UID: a successor of the same name is another.

// closingTerm is how long the key outlasts the last call of CloseRepo: much longer
// than a replica can lag.
const closingTerm = time.Hour

// CloseRepo makes sure that from now on no replica binds an object to this
// AtprotoRepo. What was begun before is there, or is told by Writing. It is called
// again and again until the AtprotoRepo is gone.
func (h *Hub) CloseRepo(ctx context.Context, workspace, name string, uid types.UID) error {
	return h.closeKey(ctx, workspace, name, uid)
}

func (h *Hub) closeKey(ctx context.Context, workspace, name string, uid types.UID) error {
	key := h.keys.closing(workspace, name, uid)
	resp, err := h.etcd.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("close %q: %w", name, err)
	}
	if len(resp.Kvs) == 1 {
		left, err := h.etcd.TimeToLive(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
		if err == nil && time.Duration(left.TTL)*time.Second > closingTerm/2 {
			return nil
		}
	}
	lease, err := h.etcd.Grant(ctx, int64(closingTerm/time.Second))
	if err != nil {
		return fmt.Errorf("close %q: %w", name, err)
	}
	if _, err := h.etcd.Put(ctx, key, string(uid), clientv3.WithLease(lease.ID)); err != nil {
		return fmt.Errorf("close %q: %w", name, err)
	}
	return nil
}

// notClosing is the compare of every transaction that binds an object to m.
func (h *Hub) notClosing(m *mount) clientv3.Cmp {
	return absent(h.keys.closing(m.Workspace, m.Name, m.UID))
}

// accepts refuses a binding to an AtprotoRepo that this replica knows to be closing.
func (h *Hub) accepts(m *mount) error {
	if now := h.mountNamed(m.Workspace, m.Name); m.Closing || now != nil && now.Closing {
		return beingDeleted(m.Name)
	}
	return nil
}

// closed says why a transaction that binds to m may have failed: another replica
// knows it to be closing.
func (h *Hub) closed(ctx context.Context, m *mount) error {
	resp, err := h.etcd.Get(ctx, h.keys.closing(m.Workspace, m.Name, m.UID), clientv3.WithCountOnly())
	if err == nil && resp.Count > 0 {
		return beingDeleted(m.Name)
	}
	return err
}

// unlessClosing is nil for a record that appears where nothing is bound any more: of
// an AtprotoRepo that is being deleted none appears by itself.
func unlessClosing(err error) error {
	if errors.Is(err, errClosing) {
		return nil
	}
	return err
}

var errClosing = errors.New("is being deleted")

func beingDeleted(name string) error {
	return fmt.Errorf("%w: AtprotoRepo %q %w", ErrBinding, name, errClosing)
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
