package repostore

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Delete removes an object, and its record unless it is retained or gone.
func (s *Store) Delete(ctx context.Context, key string, out runtime.Object, pre *storage.Preconditions, validate storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions) error {
	ref, err := s.ref(key)
	if err != nil {
		return err
	}
	if opts.ExpectTransformOrDecodeError && unsafeDeletion() {
		return s.fail(s.deleteCorrupt(ctx, ref, pre, validate), ref)
	}
	for i := range attempts {
		done, err := s.deleteOnce(ctx, ref, out, pre, validate, i == 0)
		if done == finished {
			return s.fail(err, ref)
		}
		if err := s.pause(ctx, i); err != nil {
			return s.fail(err, ref)
		}
	}
	return s.fail(s.contended(ref), ref)
}

func (s *Store) deleteOnce(ctx context.Context, ref objectRef, out runtime.Object, pre *storage.Preconditions, validate storage.ValidateObjectFunc, first bool) (outcome, error) {
	sn, err := s.look(ctx, ref)
	if err != nil {
		return finished, err
	}
	if sn.intent != nil {
		return retryOr(s.awaitIntent(ctx, ref, sn.intent, nil))
	}
	if !sn.there() && first {
		if sn, err = s.current(ctx, ref); err != nil {
			return finished, err
		}
	}
	if !sn.there() {
		return finished, storage.NewKeyNotFoundError(s.keys.view(ref), 0)
	}
	if err := pre.Check(s.keys.view(ref), sn.obj); err != nil {
		return finished, err
	}
	if err := validate(ctx, sn.obj.DeepCopyObject()); err != nil {
		return finished, &callerError{err}
	}
	switch {
	case !sn.stamp.bound(), sn.stamp.orphaned():
		return s.deletePrivate(ctx, ref, sn, out)
	case s.mapper.Binding(sn.obj).Retain:
		uri, _ := parseURI(sn.stamp.URI)
		return s.deletePrivate(ctx, ref, sn, out, s.detachOp(ref.workspace, uri))
	}
	alone, err := s.viewAlone(ctx, ref, sn.stamp.URI)
	switch {
	case err != nil:
		return finished, err
	case alone:
		return s.deletePrivate(ctx, ref, sn, out)
	default:
		return s.deleteRecord(ctx, ref, sn, pre, out)
	}
}

func retryOr(err error) (outcome, error) {
	if err != nil {
		return finished, err
	}
	return again, nil
}

// deletePrivate removes the view alone. An orphan's URI is free then: a record
// that was re-created there meanwhile is served as a new object at once.
func (s *Store) deletePrivate(ctx context.Context, ref objectRef, sn snapshot, out runtime.Object, extra ...clientv3.Op) (outcome, error) {
	s.hub.step("delete.private.before-view")
	err := s.deleteView(ctx, ref, sn.view, sn.stamp.Rev, guard{}, out, extra...)
	if errors.Is(err, errMoved) {
		return again, nil
	}
	if err != nil || !sn.stamp.orphaned() {
		return finished, unanswered(err)
	}
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if err != nil {
		return finished, nil //nolint:nilerr // no mount now: whoever mounts it lists it
	}
	m.deferKey(uri.Key) // whatever the next line does, it is tried until it is done
	m.progress.wake()
	s.hub.step("delete.private.before-ingest")
	if s.ingest(ctx, m, uri.Key, ingestOptions{wait: true}) == nil {
		m.undefer(uri.Key, uri.String())
	}
	return finished, nil
}

// deleteRecord deletes the record under its swap, then the view. out is nil where
// the view can't be decoded: nothing can be ingested into it then.
func (s *Store) deleteRecord(ctx context.Context, ref objectRef, sn snapshot, pre *storage.Preconditions, out runtime.Object) (outcome, error) {
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if err == nil {
		err = writable(m)
	}
	if err != nil {
		return finished, err
	}
	it := &intent{Op: opDelete, Nonce: s.hub.nonce(), URI: sn.stamp.URI, Base: sn.stamp.CID, BaseRevision: sn.revision}
	s.hub.step("delete.before-intent")
	if ok, err := s.takeIntent(ctx, ref, it, nil); err != nil {
		return finished, err
	} else if !ok {
		return again, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.hub.putTimeout)
	defer cancel()
	s.hub.step("delete.before-delete")
	commit, err := s.remove(ctx, m, uri, it.Base)
	m.answered("", writeReached(err))
	switch {
	case errors.Is(err, atproto.ErrInvalidSwap):
		s.hub.step("delete.lost-swap")
		if _, err := s.dropIntent(ctx, ref, it, true); err != nil {
			return finished, err
		}
		if out == nil {
			return again, nil
		}
		if err := s.ingest(ctx, m, uri.Key, ingestOptions{wait: true}); err != nil {
			return finished, err
		}
		// The record may have been deleted, and the view with it, and be another
		// object's by now, which nobody asked to delete.
		if now, err := s.look(ctx, ref); err != nil || now.there() && !sameUID(now.obj, sn.obj) {
			return finished, errors.Join(err, s.decodeInto(sn.data, sn.revision, out))
		}
		return again, nil
	case errors.Is(err, atproto.ErrUnknownOutcome):
		s.release(ctx, ref, it)
		return finished, fmt.Errorf("delete %s: %w", uri, err)
	case err != nil:
		_, derr := s.dropIntent(ctx, ref, it, true)
		return finished, errors.Join(fmt.Errorf("delete %s: %w", uri, err), derr)
	}
	var rev string
	if commit != nil {
		rev = commit.Rev
	} else if latest, err := m.latestHead(ctx); err != nil { // it was gone already
		s.release(ctx, ref, it)
		return finished, fmt.Errorf("delete %s: %w: %w", uri, atproto.ErrUnknownOutcome, err)
	} else {
		rev = latest.Rev
	}
	s.hub.step("delete.before-view")
	var done outcome
	if out == nil {
		done, err = s.finishCorrupt(ctx, ref, sn, it, rev)
	} else {
		done, err = s.finishDeletion(ctx, ref, m, uri, sn, it, rev, pre, out)
	}
	return done, stood("delete", uri, err)
}

// finishDeletion deletes the view of a record whose deletion was committed at rev.
func (s *Store) finishDeletion(ctx context.Context, ref objectRef, m *mount, uri recordURI, sn snapshot, it *intent, rev string, pre *storage.Preconditions, out runtime.Object) (outcome, error) {
	g := guard{intent: it, did: uri.did, horizon: it.horizon}
	for {
		err := s.deleteView(ctx, ref, sn.view, rev, g, out)
		if !errors.Is(err, errMoved) {
			return finished, err
		}
		now, err := s.stands(ctx, m, ref, uri, it, rev)
		switch {
		case err != nil:
			s.release(ctx, ref, it)
			return finished, err
		case now == nil:
			return s.deletedByOthers(ctx, ref, m, uri, sn, pre, out)
		case now.rec != nil: // created again
			_, err := s.dropIntent(ctx, ref, it, true)
			return retryOr(err)
		}
		rev, g.horizon = now.rev, now.horizon
	}
}

// deletedByOthers: the record is gone, and somebody else finished the deletion, or
// gave it up.
func (s *Store) deletedByOthers(ctx context.Context, ref objectRef, m *mount, uri recordURI, sn snapshot, pre *storage.Preconditions, out runtime.Object) (outcome, error) {
	if err := s.ingest(ctx, m, uri.Key, ingestOptions{wait: true}); err != nil {
		return finished, err
	}
	at, last, err := s.deletedAt(ctx, ref, sn.revision)
	if at != 0 && last != sn.revision && pre != nil && pre.ResourceVersion != nil {
		err = errors.New("another version than was demanded") // a private write joined: see join.go
	}
	if err != nil {
		return finished, err
	}
	if at == 0 {
		return again, nil
	}
	return finished, s.decodeInto(sn.data, at, out)
}
