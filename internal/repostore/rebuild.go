package repostore

import (
	"context"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// rebuildBatch is how many views one transaction makes: etcd allows 128 compares,
// each view takes five, and the repository two.
const rebuildBatch = 25

// rebuild makes the views of many records at once, from an export: a start with
// an empty cache. It takes only records that have no view, no intent, no memory
// of being detached or dropped; whatever its transaction doesn't get in is left
// to ingest, which looks at each. What is left is returned.
func (m *mount) rebuild(ctx context.Context, todo []atproto.Key, held map[atproto.Key]atproto.Record, rev string) ([]atproto.Key, error) {
	if len(todo) < rebuildBatch || !m.Default {
		return todo, nil
	}
	var left []atproto.Key
	byCollection := map[string][]atproto.Key{}
	for _, key := range todo {
		if _, ok := held[key]; ok {
			byCollection[key.Collection] = append(byCollection[key.Collection], key)
		} else {
			left = append(left, key)
		}
	}
	for collection, keys := range byCollection {
		s := m.hub.storeFor(collection)
		ids, err := s.identities(ctx, m)
		if err != nil {
			return nil, err
		}
		// Several at once: etcd writes the log of all that wait together to the disk.
		var mu sync.Mutex
		group, gctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for batch := range slices.Chunk(keys, rebuildBatch) {
			group.Go(func() error {
				ok, err := s.rebuildOnce(gctx, m, batch, held, rev, ids)
				if err == nil && !ok {
					mu.Lock()
					defer mu.Unlock()
					left = append(left, batch...)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// settled says at once what the publisher would say of each object in a
// transaction of its own: nothing is left to be written to its record.
func (s *Store) settled(obj runtime.Object, st stamp) error {
	if st.Invalid != "" {
		return nil
	}
	ours, err := s.renderedStatus(view{stamp: st}, obj)
	if err != nil || ours != st.Status {
		return err
	}
	return s.setRecordStatus(obj, st, InSync)
}

// identities of a repository's records, by rkey.
func (s *Store) identities(ctx context.Context, m *mount) (map[string]*identity, error) {
	ids := map[string]*identity{}
	prefix := s.keys.uids(s.resource.Resource, m.Workspace, m.Repo.DID())
	err := s.hub.eachKey(ctx, prefix, func(key string, value []byte, _ int64) (err error) {
		ids[key[len(prefix):]], err = decodeIdentity(value)
		return err
	})
	return ids, err
}

// rebuildOnce makes a batch of views, all or none. The fence was not read before
// the export, so the transaction demands instead that no view, intent or
// tombstone of these names exists, that the records are not detached, that the
// AtprotoRepo is not closing, and that no
// record of the repository was deleted since: the fence is absent, or was last
// bumped at an older rev.
func (s *Store) rebuildOnce(ctx context.Context, m *mount, batch []atproto.Key, held map[atproto.Key]atproto.Record, rev string, ids map[string]*identity) (bool, error) {
	fence := s.keys.fence(m.Workspace, m.Repo.DID())
	var cmps []clientv3.Cmp
	var ops []clientv3.Op
	for _, key := range batch {
		rec, uri, id := held[key], recordURI{m.Repo.DID(), key}, ids[key.RKey]
		name := NameOf(key.RKey)
		if id != nil {
			name = id.Name
		}
		ref := makeRef(s.resourcePrefix, m.Workspace, name)
		obj, st, err := s.fresh(ref, uri, id, &rec, rev)
		if err != nil {
			return false, err
		}
		if err := s.settled(obj, st); err != nil {
			return false, err
		}
		data, err := s.encode(obj)
		if err != nil {
			return false, err
		}
		value, err := s.seal(ctx, ref, data, st)
		if err != nil {
			return false, err
		}
		tombstones := s.keys.tombstones(ref)
		cmps = append(cmps, absent(s.keys.view(ref)), absent(s.keys.intent(ref)),
			absent(s.keys.detached(s.resource.Resource, m.Workspace, uri.did, uri.RKey)),
			absent(tombstones).WithRange(clientv3.GetPrefixRangeEnd(tombstones)))
		ops = append(ops, clientv3.OpPut(s.keys.view(ref), value))
		if id == nil {
			cmps = append(cmps, absent(s.keys.uid(s.resource.Resource, m.Workspace, uri.did, uri.RKey)))
			ops = append(ops, s.identityOps(ref, stamp{}, st, obj)...)
		}
	}
	cmps = append(cmps, s.hub.notClosing(m))
	fenced := func(cmp clientv3.Cmp) (bool, error) {
		resp, err := s.txn(ctx, "rebuild", append(slices.Clone(cmps), cmp), ops)
		return err == nil && resp.Succeeded, err
	}
	if ok, err := fenced(absent(fence)); ok || err != nil {
		return ok, err
	}
	return fenced(clientv3.Compare(clientv3.Value(fence), "<", rev))
}
