package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// deletedAt is the revision at which somebody else deleted the view that was seen
// at a revision: what a deletion answers has the resourceVersion that the watches
// show. It is 0 while the view is there. last is the revision of the state that was
// deleted. Nothing but the history of etcd tells
// it, so it is searched there, which costs a few reads, and only in this case.
func (s *Store) deletedAt(ctx context.Context, ref objectRef, seen int64) (at, last int64, err error) {
	var head, created int64
	// there tells whether the same view, created once, was there at a revision; 0
	// is now.
	there := func(revision int64) (bool, error) {
		resp, err := s.hub.etcd.Get(ctx, s.keys.view(ref), clientv3.WithRev(revision), clientv3.WithKeysOnly())
		if err != nil {
			return false, fmt.Errorf("find the deletion: %w", err)
		}
		head = resp.Header.Revision
		if len(resp.Kvs) == 0 {
			return false, nil
		}
		if created == 0 {
			created = resp.Kvs[0].CreateRevision
		}
		if resp.Kvs[0].CreateRevision != created {
			return false, nil
		}
		last = resp.Kvs[0].ModRevision
		return true, nil
	}
	if _, err := there(seen); err != nil {
		return 0, 0, err
	}
	if still, err := there(0); still || err != nil {
		return 0, 0, err
	}
	from, to := seen, head
	for to-from > 1 {
		middle := from + (to-from)/2
		still, err := there(middle)
		if err != nil {
			return 0, 0, err
		}
		if still {
			from = middle
		} else {
			to = middle
		}
	}
	return to, last, nil
}
