package repostore

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// deleteCorrupt removes a view that can't be decoded, and its record with it:
// else the next ingest would bring it back. It goes the way of every deletion, by
// an intent and under the record's swap, for an ingest that has read the record
// before would make the view again. Preconditions and validation get no object,
// as in the stock store; a view that can be decoded is refused.
func (s *Store) deleteCorrupt(ctx context.Context, ref objectRef, pre *storage.Preconditions, validate storage.ValidateObjectFunc) error {
	for i := range attempts {
		done, err := s.deleteCorruptOnce(ctx, ref, pre, validate)
		if done == finished {
			return err
		}
		if err := s.pause(ctx, i); err != nil {
			return err
		}
	}
	return s.contended(ref)
}

func (s *Store) deleteCorruptOnce(ctx context.Context, ref objectRef, pre *storage.Preconditions, validate storage.ValidateObjectFunc) (outcome, error) {
	sn, err := s.lookCorrupt(ctx, ref)
	if err != nil {
		return finished, err
	}
	if err := pre.Check(s.keys.view(ref), nil); err != nil {
		return finished, err
	}
	if err := validate(ctx, nil); err != nil {
		return finished, &callerError{err}
	}
	switch {
	case sn.intent != nil && !sn.intent.expired(s.hub.clock.Now()):
		return again, nil // its owner made it over a view that could be decoded
	case sn.intent != nil: // nobody can settle it
		_, err := s.dropIntent(ctx, ref, sn.intent, false)
		return retryOr(err)
	case !sn.stamp.bound(), sn.stamp.orphaned():
		return s.deletePrivate(ctx, ref, sn, nil)
	}
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if err != nil {
		return finished, err
	}
	rec, err := m.Repo.GetRecord(ctx, uri.Key)
	if errors.Is(err, atproto.ErrRecordNotFound) {
		return s.deletePrivate(ctx, ref, sn, nil)
	}
	m.answered("", err)
	if err != nil {
		return finished, err
	}
	sn.stamp.CID = rec.CID // whatever it holds now
	return s.deleteRecord(ctx, ref, sn, nil)
}

// lookCorrupt reads the stamp of a view whose object can't be decoded. Without a
// stamp nothing is known of a record: one that there is comes back as a new view.
func (s *Store) lookCorrupt(ctx context.Context, ref objectRef) (snapshot, error) {
	key := s.keys.view(ref)
	resp, err := s.txn(ctx, "look", nil, []clientv3.Op{clientv3.OpGet(key), clientv3.OpGet(s.keys.intent(ref))})
	if err != nil {
		return snapshot{}, err
	}
	views, intents := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
	if len(views) == 0 {
		return snapshot{}, storage.NewKeyNotFoundError(key, 0)
	}
	if _, err := s.decodeView(ctx, ref, views[0].Value, views[0].ModRevision); err == nil {
		return snapshot{}, storage.NewInvalidObjError(key, "unsafe deletion is not allowed because the object is decodable from storage")
	}
	out := snapshot{head: resp.Header.Revision}
	out.revision = views[0].ModRevision
	if st, _, err := openStamp(views[0].Value); err == nil {
		out.stamp = st
	}
	if len(intents) == 1 {
		if out.intent, err = decodeIntent(intents[0].Value, intents[0].ModRevision); err != nil {
			return snapshot{}, fmt.Errorf("intent of %s: %w", key, err)
		}
	}
	return out, nil
}
