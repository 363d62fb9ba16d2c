package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The horizon of a repository is one etcd key beside its fence. Its value is a
// rev, and it only rises: whatever the views of the repository are changed to from
// now on is at least as new as that. Two things establish it and leave no trace in
// a view: a comparison that begins at this rev and will find that most views show
// their records, and a record that changed and changed back to what its view
// shows. Both call the views up to date (I7), here; on another replica an event
// from between may still be on its way.
//
// An ingest reads the horizon before it reads the record, and its write compares
// it: what was read before the horizon rose is not written. Nor does what an event
// at or below the horizon tells stand for the record (told.go).

// raiseHorizon makes every ingest under way whose record may be older than rev
// start again.
func (m *mount) raiseHorizon(ctx context.Context, rev string) error {
	key := m.hub.keys.horizon(m.Workspace, m.Repo.DID())
	put := clientv3.OpPut(key, rev)
	higher := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "<", rev)}, []clientv3.Op{put}, nil)
	if _, err := m.hub.etcd.Txn(ctx).If(absent(key)).Then(put).Else(higher).Commit(); err != nil {
		return fmt.Errorf("raise the horizon of %s: %w", m.Repo.DID(), err)
	}
	return nil
}

// raiseOver raises the horizon over a view that is up to date as it is. It answers
// errMoved where the view, or the horizon, is not what sn has seen.
func (s *Store) raiseOver(ctx context.Context, ref objectRef, did string, sn snapshot, rev string) error {
	key := s.keys.horizon(ref.workspace, did)
	resp, err := s.txn(ctx, "horizon",
		[]clientv3.Cmp{at(key, sn.horizonRevision), at(s.keys.view(ref), sn.revision)},
		[]clientv3.Op{clientv3.OpPut(key, max(sn.horizon, rev))})
	if err == nil && !resp.Succeeded {
		err = errMoved
	}
	return err
}
