package repostore

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

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
	sn, stamped, err := s.lookCorrupt(ctx, ref)
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
	case sn.intent != nil && !s.hub.expiry.expired(s.keys.intent(ref), sn.intent, s.hub.clock.Now()):
		return again, nil // its owner made it over a view that could be decoded
	case sn.intent != nil: // nobody can settle it
		_, err := s.dropIntent(ctx, ref, sn.intent, false)
		return retryOr(err)
	case !stamped:
		done, err := s.deletePrivate(ctx, ref, sn, nil)
		if done == finished && err == nil {
			s.compareAll(ctx, ref.workspace)
		}
		return done, err
	case !sn.stamp.bound(), sn.stamp.orphaned():
		return s.deletePrivate(ctx, ref, sn, nil)
	}
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if err == nil {
		err = writable(m)
	}
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
	return s.deleteRecord(ctx, ref, sn, pre, nil)
}

// finishCorrupt deletes the view after its record. The horizon is not compared: a view
// that can't be read is up to date for nobody.
func (s *Store) finishCorrupt(ctx context.Context, ref objectRef, sn snapshot, it *intent, rev string) (outcome, error) {
	err := s.deleteView(ctx, ref, sn.view, rev, guard{intent: it}, nil)
	if !errors.Is(err, errMoved) {
		return finished, err
	}
	if _, _, err = s.lookCorrupt(ctx, ref); storage.IsNotFound(err) { // somebody else finished it
		return finished, nil
	}
	return retryOr(err)
}

// compareAll brings back what a view without a stamp may have hidden: nothing says
// which record it was. What fails is tried again by the ingest loop.
func (s *Store) compareAll(ctx context.Context, ws string) {
	for _, m := range s.hub.mountsIn(ws) {
		if m.Access == AccessNone {
			continue
		}
		m.progress.lost("a damaged view was deleted")
		_, g := m.progress.tasks()
		if err := m.compare(ctx, g); err != nil {
			klog.FromContext(ctx).Error(err, "The records behind a damaged view are not read yet", "atprotorepo", klog.KRef(ws, m.Name))
		}
	}
}

// lookCorrupt reads the stamp, if there is one, of a view that can't be decoded.
func (s *Store) lookCorrupt(ctx context.Context, ref objectRef) (out snapshot, stamped bool, err error) {
	key := s.keys.view(ref)
	resp, err := s.txn(ctx, "look", nil, []clientv3.Op{clientv3.OpGet(key), clientv3.OpGet(s.keys.intent(ref))})
	if err != nil {
		return snapshot{}, false, err
	}
	views, intents := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
	if len(views) == 0 {
		return snapshot{}, false, storage.NewKeyNotFoundError(key, 0)
	}
	if _, err := s.decodeView(ctx, ref, views[0].Value, views[0].ModRevision); err == nil {
		return snapshot{}, false, storage.NewInvalidObjError(key, "unsafe deletion is not allowed because the object is decodable from storage")
	}
	out.head = resp.Header.Revision
	out.revision = views[0].ModRevision
	if st, _, err := openStamp(views[0].Value); err == nil {
		out.stamp, stamped = st, true
	}
	if len(intents) == 1 {
		if out.intent, err = decodeIntent(intents[0].Value, intents[0].ModRevision); err != nil {
			return snapshot{}, false, fmt.Errorf("intent of %s: %w", key, err)
		}
	}
	return out, stamped, nil
}

// corrupt marks an error of a stored value as the transformer marks its own.
func (s *Store) corrupt(ctx context.Context, err error) error {
	if unsafeDeletion() {
		_, _, err = etcd3.WithCorruptObjErrorHandlingTransformer(unreadable{err: err}).TransformFromStorage(ctx, nil, nil)
	}
	return err
}

// unreadable is a transformer that can't read.
type unreadable struct {
	value.Transformer
	err error
}

func (u unreadable) TransformFromStorage(context.Context, []byte, value.Context) ([]byte, bool, error) {
	return nil, false, u.err
}
