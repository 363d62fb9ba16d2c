package repostore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"
)

// A put whose intent was given up may land later. The tombstone says whose it is,
// so the declaration comes with its private part after all: as it was meant, where
// the view is still the one that the intent was taken on; merged, where private
// writes changed the view since.

// applyDropped makes the view what a dropped intent meant, if the record is what
// one of them put. found is false where it is none's.
func (s *Store) applyDropped(ctx context.Context, ref objectRef, sn snapshot, cid, rev string, g guard) (found bool, err error) {
	for _, it := range sn.tombstones {
		switch {
		case it.Target != cid:
			continue
		case it.BaseRevision == sn.revision:
			return true, s.applyIntent(ctx, ref, sn.view, it, rev, g)
		case !sn.sameRecordAs(it):
			continue
		}
		err := s.applyMerged(ctx, ref, sn, it, rev, g)
		if !errors.Is(err, errUnmergeable) {
			return true, err
		}
	}
	return false, nil
}

// sameRecordAs tells whether the view shows the record as it was when the update's
// intent was taken: what changed since is private. Bytes that come back later are
// somebody else's.
func (sn snapshot) sameRecordAs(it *intent) bool {
	return sn.there() && it.Op == opUpdate && it.BaseRevision != 0 &&
		sn.stamp.URI == it.URI && sn.stamp.CID == it.Base && sn.stamp.Rev == it.BaseRev
}

// applyMerged brings the intent's object together with the view as it is now. Its
// base is in etcd's history, which is compacted after some minutes; without it
// nobody can tell who changed what, and the record's declaration alone comes in,
// as of any edit. The writer was answered 504 and was promised nothing.
func (s *Store) applyMerged(ctx context.Context, ref objectRef, sn snapshot, it *intent, rev string, g guard) error {
	resp, err := s.hub.etcd.Get(ctx, s.keys.view(ref), clientv3.WithRev(it.BaseRevision))
	switch {
	case errors.Is(err, rpctypes.ErrCompacted), errors.Is(err, rpctypes.ErrGRPCCompacted): // over a socket, within the process
		return errUnmergeable
	case err != nil:
		return fmt.Errorf("read the base of a dropped intent: %w", err)
	case len(resp.Kvs) != 1:
		return errUnmergeable
	}
	base, err := s.decodeView(ctx, ref, resp.Kvs[0].Value, resp.Kvs[0].ModRevision)
	if err != nil || !sameUID(base.obj, sn.obj) {
		return errUnmergeable
	}
	intended, _, err := s.transformer.TransformFromStorage(ctx, it.Object, authenticatedKey(s.keys.intent(ref)))
	if err != nil {
		return storage.NewInternalError(err)
	}
	obj, err := s.merge(base.data, intended, sn.data)
	if err != nil {
		return err
	}
	return s.finalize(ctx, ref, sn.view, it, obj, rev, g, nil)
}
