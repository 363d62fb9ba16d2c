package repostore

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// snapshot is what one etcd transaction says of an object: its view and its open
// intent; for an ingest also the fence and the horizon of the repository, the
// identity of the record, and the dropped intents. It is always read before the record (I4, I5).
type snapshot struct {
	view
	intent     *intent
	identity   *identity
	tombstones []*intent
	fence      int64
	deleted    rev // the fence's value: the highest rev at which a view of the repository was deleted
	// horizon is the rev below which nothing may come into a view: see horizon.go.
	horizon         rev
	horizonRevision int64 // its mod revision
	head            int64 // etcd's revision
}

// look reads the view and the intent of an object.
func (s *Store) look(ctx context.Context, ref objectRef) (snapshot, error) {
	resp, err := s.txn(ctx, "look", nil, []clientv3.Op{clientv3.OpGet(s.keys.view(ref)), clientv3.OpGet(s.keys.intent(ref))})
	if err != nil {
		return snapshot{}, err
	}
	return s.readSnapshot(ctx, ref, resp)
}

// lookRecord reads all that the ingest of a record needs. The object's name is
// guessed from the rkey; a record that another name has bound takes a second
// look. named, where not nil, is the object itself: an intent is found there.
func (s *Store) lookRecord(ctx context.Context, ws string, uri recordURI, named *objectRef) (objectRef, snapshot, error) {
	ref := makeRef(s.resourcePrefix, ws, NameOf(uri.RKey))
	if named != nil {
		ref = *named
	}
	sn, err := s.lookForIngest(ctx, ref, uri)
	if err == nil && named == nil && sn.identity != nil && sn.identity.Name != ref.name {
		ref = makeRef(s.resourcePrefix, ws, sn.identity.Name)
		sn, err = s.lookForIngest(ctx, ref, uri)
	}
	return ref, sn, err
}

func (s *Store) lookForIngest(ctx context.Context, ref objectRef, uri recordURI) (snapshot, error) {
	resp, err := s.txn(ctx, "look", nil, []clientv3.Op{
		clientv3.OpGet(s.keys.view(ref)), clientv3.OpGet(s.keys.intent(ref)),
		clientv3.OpGet(s.keys.fence(ref.workspace, uri.did)),
		clientv3.OpGet(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)),
		clientv3.OpGet(s.keys.tombstones(ref), clientv3.WithPrefix()),
		clientv3.OpGet(s.keys.horizon(ref.workspace, uri.did)),
	})
	if err != nil {
		return snapshot{}, err
	}
	sn, err := s.readSnapshot(ctx, ref, resp)
	if err != nil {
		return snapshot{}, err
	}
	if kvs := found(resp, 2); len(kvs) == 1 {
		sn.fence, sn.deleted = kvs[0].ModRevision, string(kvs[0].Value)
	}
	if kvs := found(resp, 3); len(kvs) == 1 {
		if sn.identity, err = decodeIdentity(kvs[0].Value); err != nil {
			return snapshot{}, err
		}
	}
	for _, kv := range found(resp, 4) {
		it, err := decodeIntent(kv.Value, kv.ModRevision)
		if err != nil {
			return snapshot{}, err
		}
		sn.tombstones = append(sn.tombstones, it)
	}
	if kvs := found(resp, 5); len(kvs) == 1 {
		sn.horizonRevision, sn.horizon = kvs[0].ModRevision, string(kvs[0].Value)
	}
	return sn, nil
}

func found(resp *clientv3.TxnResponse, op int) []*mvccpb.KeyValue {
	return resp.Responses[op].GetResponseRange().Kvs
}

// readSnapshot decodes what the first two operations of a look found.
func (s *Store) readSnapshot(ctx context.Context, ref objectRef, resp *clientv3.TxnResponse) (sn snapshot, err error) {
	sn.head = resp.Header.Revision
	if kvs := found(resp, 0); len(kvs) == 1 {
		if sn.view, err = s.decodeView(ctx, ref, kvs[0].Value, kvs[0].ModRevision); err != nil {
			return snapshot{}, err
		}
	}
	if kvs := found(resp, 1); len(kvs) == 1 {
		if sn.intent, err = decodeIntent(kvs[0].Value, kvs[0].ModRevision); err != nil {
			return snapshot{}, err
		}
	}
	return sn, nil
}

// guardFor is the guard of an ingest that was decided on sn (I2, I7).
func (sn snapshot) guardFor(uri recordURI) guard {
	return guard{did: uri.did, horizon: sn.horizonRevision, tombstones: sn.head, identity: sn.identity}
}
