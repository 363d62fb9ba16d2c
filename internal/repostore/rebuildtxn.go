package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// rebuildParallel is how many views of a rebuild are on their way to etcd at once:
// those that wait together reach its log, and the disk, together.
const rebuildParallel = 32

// one makes the view of one record, in a transaction of its own. It has a revision
// of its own then: views that share one would not do, for a cache that has seen the
// first of them takes itself for as new as all, and a watch from that revision
// never tells the others (I7).
//
// The fence was not read before the export, so the transaction demands instead that
// nothing of this name exists, that the AtprotoRepo is not closing, that the export
// reaches the horizon, and that no record of the repository was deleted since.
// Where that fails somebody is at work: the record is left to ingest.
func (r *rebuilder) one(ctx context.Context, key atproto.Key) error {
	rec, id := r.held[key], r.ids[key.RKey]
	ref, uri := makeRef(r.resourcePrefix, r.m.Workspace, r.nameOf(key)), recordURI{r.m.Repo.DID(), key}
	var by *child
	if r.by.adopts(id) {
		by = &child{of: r.by, in: r.m}
	}
	obj, st, err := r.fresh(r.m, ref, uri, id, by, &rec, r.rev)
	if err != nil {
		return err
	}
	if err := r.settled(obj, st); err != nil {
		return err
	}
	data, err := r.encode(obj)
	if err != nil {
		return err
	}
	value, err := r.seal(ctx, ref, data, st)
	if err != nil {
		return err
	}
	tombstones := r.keys.tombstones(ref)
	cmps := []clientv3.Cmp{
		absent(r.keys.view(ref)), absent(r.keys.intent(ref)),
		absent(tombstones).WithRange(clientv3.GetPrefixRangeEnd(tombstones)),
		absent(r.keys.detached(r.resource.Resource, r.m.Workspace, uri.did, uri.RKey)),
		r.hub.notClosing(r.m), r.horizonReached(), r.fenceBefore(),
	}
	ops := []clientv3.Op{clientv3.OpPut(r.keys.view(ref), value)}
	if by != nil {
		cmps = append(cmps, by.compares(r.Store)...)
	}
	identity := r.keys.uid(r.resource.Resource, r.m.Workspace, uri.did, uri.RKey)
	if id == nil {
		cmps = append(cmps, absent(identity))
		ops = append(ops, r.identifyOp(ref, uri, obj, nil))
	} else {
		cmps = append(cmps, present(identity)) // else its view was deleted, alone: see viewalone.go
	}
	var made int64
	if id == nil {
		done, ok, err := r.hub.take(ctx, ref, len(value))
		if err != nil {
			return err
		}
		if !ok {
			return r.beyond(ctx, uri, cmps, len(value))
		}
		defer func() { done(made) }()
	}
	resp, err := r.txn(ctx, "rebuild", cmps, ops)
	if err != nil {
		return err
	}
	if !resp.Succeeded {
		r.leave(key)
		return nil
	}
	made = resp.Header.Revision
	return nil
}

// beyond: the record gets no object, of size bytes, for want of room. Asked for one by
// one, all that a repository has beyond it would cost a request each.
func (r *rebuilder) beyond(ctx context.Context, uri recordURI, cmps []clientv3.Cmp, size int) error {
	resp, err := r.txn(ctx, "full", cmps, nil)
	if err != nil {
		return err
	}
	if !resp.Succeeded {
		r.leave(uri.Key)
		return nil
	}
	r.m.undefer(uri.Key, uri.String())
	r.m.wanting(uri.Key, size)
	return nil
}

// fenceBefore demands that no view was deleted at a later rev than the export's.
func (r *rebuilder) fenceBefore() clientv3.Cmp {
	key := r.keys.fence(r.m.Workspace, r.m.Repo.DID())
	if !r.fence {
		return absent(key)
	}
	return clientv3.Compare(clientv3.Value(key), "<", r.rev+"\x00")
}

// horizonReached demands that the export is not older than the horizon: a record
// that it holds may be gone, and another replica have found so.
func (r *rebuilder) horizonReached() clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(r.keys.horizon(r.m.Workspace, r.m.Repo.DID())), "<", r.rev+"\x00")
}

// exists tells whether etcd has the key.
func (h *Hub) exists(ctx context.Context, key string) (bool, error) {
	resp, err := h.etcd.Get(ctx, key, clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", key, err)
	}
	return resp.Count > 0, nil
}
