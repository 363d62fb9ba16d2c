package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// revision is etcd's now.
func (h *Hub) revision(ctx context.Context) (int64, error) {
	resp, err := h.etcd.Get(ctx, h.keys.prefix, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	return resp.Header.Revision, nil
}

// eachKey walks a prefix in pages, at one revision.
func (h *Hub) eachKey(ctx context.Context, prefix string, f func(key string, value []byte, modRevision int64) error) error {
	const page = 500
	key, end, revision := prefix, clientv3.GetPrefixRangeEnd(prefix), int64(0)
	for {
		resp, err := h.etcd.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
		if err != nil {
			return fmt.Errorf("read %s: %w", prefix, err)
		}
		for _, kv := range resp.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return err
			}
		}
		if !resp.More {
			return nil
		}
		revision = resp.Header.Revision
		key = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
