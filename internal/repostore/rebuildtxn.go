package repostore

import (
	"context"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

const (
	// txnOps is how many compares, and how many operations, etcd takes in one
	// transaction unless its --max-txn-ops says otherwise.
	txnOps = 128
	// txnBytes is how large one may become; etcd's --max-request-bytes is 1.5 MiB.
	txnBytes = 1 << 20
	// togetherMost bounds what waits behind one transaction.
	togetherMost = 512
	// failuresMost is how often many views are tried together in vain.
	failuresMost = 3
)

// perTogether is how many views a transaction makes that compares what was written
// in the whole workspace: six compares, and two for each view.
func (r *rebuilder) perTogether() int { return min(togetherMost, (r.hub.txnOps-6)/2) }

// perSingly is that for one that compares five keys of each view, and three of the
// repository.
func (r *rebuilder) perSingly() int { return (r.hub.txnOps - 3) / 5 }

// fresh view of a record.
type freshView struct {
	key atproto.Key
	ref objectRef
	uri recordURI
	ops []clientv3.Op
	new bool // the record was never seen before
}

func (v freshView) size() (n int) {
	for _, op := range v.ops {
		n += 2*len(op.KeyBytes()) + len(op.ValueBytes()) + 64
	}
	return n
}

// some makes the views of some records, as few transactions as etcd takes.
func (r *rebuilder) some(ctx context.Context, keys []atproto.Key) error {
	var batch []freshView
	size := 0
	for _, key := range keys {
		v, err := r.make(ctx, key)
		if err != nil {
			return err
		}
		if size += v.size(); size > txnBytes && len(batch) > 0 {
			if err := r.commit(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, v.size()
		}
		batch = append(batch, v)
	}
	return r.commit(ctx, batch)
}

func (r *rebuilder) make(ctx context.Context, key atproto.Key) (freshView, error) {
	rec, id := r.held[key], r.ids[key.RKey]
	v := freshView{key: key, ref: makeRef(r.resourcePrefix, r.m.Workspace, r.nameOf(key)), uri: recordURI{r.m.Repo.DID(), key}, new: id == nil}
	obj, st, err := r.fresh(v.ref, v.uri, id, &rec, r.rev)
	if err != nil {
		return v, err
	}
	if err := r.settled(obj, st); err != nil {
		return v, err
	}
	data, err := r.encode(obj)
	if err != nil {
		return v, err
	}
	value, err := r.seal(ctx, v.ref, data, st)
	if err != nil {
		return v, err
	}
	v.ops = []clientv3.Op{clientv3.OpPut(r.keys.view(v.ref), value)}
	if v.new {
		v.ops = append(v.ops, r.identifyOp(v.ref, v.uri, obj))
	}
	return v, nil
}

// commit writes views that don't exist, all or none. The fence was not read before
// the export, so the transaction demands instead that no view of these names
// exists, that the AtprotoRepo is not closing, that the export reaches the horizon, that no record of the repository was deleted since, and that no intent,
// tombstone or detachment of the workspace was written since before: those that
// were written earlier have been left out. Where that fails each name is compared
// by itself; where it fails time and again somebody is at work, and it isn't tried
// any more.
func (r *rebuilder) commit(ctx context.Context, batch []freshView) error {
	if r.failed.Load() < failuresMost {
		ok, err := r.write(ctx, batch, append(r.quietSince(), r.fenceBefore(r.fence)))
		if ok || err != nil {
			return err
		}
		r.failed.Add(1)
	}
	for few := range slices.Chunk(batch, r.perSingly()) {
		var cmps []clientv3.Cmp
		for _, v := range few {
			tombstones := r.keys.tombstones(v.ref)
			cmps = append(cmps, absent(r.keys.intent(v.ref)),
				absent(r.keys.detached(r.resource.Resource, r.m.Workspace, v.uri.did, v.uri.RKey)),
				absent(tombstones).WithRange(clientv3.GetPrefixRangeEnd(tombstones)))
		}
		ok, err := r.write(ctx, few, append(slices.Clone(cmps), r.fenceBefore(r.fence)))
		if err == nil && !ok && !r.fence { // it may have come to be since
			ok, err = r.write(ctx, few, append(cmps, r.fenceBefore(true)))
		}
		if err != nil {
			return err
		}
		if !ok {
			for _, v := range few {
				r.leave(v.key)
			}
		}
	}
	return nil
}

func (r *rebuilder) write(ctx context.Context, batch []freshView, cmps []clientv3.Cmp) (bool, error) {
	cmps = append(cmps, r.hub.notClosing(r.m), r.horizonReached())
	var ops []clientv3.Op
	for _, v := range batch {
		cmps = append(cmps, absent(r.keys.view(v.ref)))
		if v.new {
			cmps = append(cmps, absent(r.keys.uid(r.resource.Resource, r.m.Workspace, v.uri.did, v.uri.RKey)))
		}
		ops = append(ops, v.ops...)
	}
	if len(ops) == 0 {
		return true, nil
	}
	resp, err := r.txn(ctx, "rebuild", cmps, ops)
	return err == nil && resp.Succeeded, err
}

// quietSince demands that no intent, tombstone or detachment was written.
func (r *rebuilder) quietSince() (cmps []clientv3.Cmp) {
	ofWorkspace := makeRef(r.resourcePrefix, r.m.Workspace, "")
	for _, prefix := range []string{
		r.keys.intent(ofWorkspace), r.keys.tombstonesIn(r.resourcePrefix, r.m.Workspace),
		r.keys.detached(r.resource.Resource, r.m.Workspace, r.m.Repo.DID(), ""),
	} {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(prefix), "<", r.before+1).WithRange(clientv3.GetPrefixRangeEnd(prefix)))
	}
	return cmps
}

// fenceBefore demands that the fence was last bumped before the export.
func (r *rebuilder) fenceBefore(exists bool) clientv3.Cmp {
	key := r.keys.fence(r.m.Workspace, r.m.Repo.DID())
	if !exists {
		return absent(key)
	}
	return clientv3.Compare(clientv3.Value(key), "<", r.rev)
}

// horizonReached demands that the export is not older than the horizon: a record
// that it holds may be gone, and another replica have found so.
func (r *rebuilder) horizonReached() clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(r.keys.horizon(r.m.Workspace, r.m.Repo.DID())), "<", r.rev+"\x00")
}

// closeRebuild writes a key of its own. The views of one transaction share a
// revision, and a cache that has seen the first of them takes itself for as new as
// all; with a later revision in etcd nobody who asks now is content with that (I7).
func (h *Hub) closeRebuild(ctx context.Context, m *mount, rev string) error {
	if _, err := h.etcd.Put(ctx, h.keys.rebuilt(m.Workspace, m.Repo.DID()), rev); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return nil
}

// exists tells whether etcd has the key.
func (h *Hub) exists(ctx context.Context, key string) (bool, error) {
	resp, err := h.etcd.Get(ctx, key, clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", key, err)
	}
	return resp.Count > 0, nil
}
