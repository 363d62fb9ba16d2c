package repostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// While the outcome of a put is unknown, nobody but the PDS can tell what became
// of it; a private write, a status above all, must not wait for that. It joins the
// intent instead: one transaction changes the view and, in the same way, the
// object that the intent holds. Whatever becomes of the intent then, the private
// write stays: a roll forward writes the merged object, a drop leaves the view.
//
// That is sound only once the intent's owner can't acknowledge its write any more:
// it was decided on the view before. So a private write joins an intent whose
// owner has answered 504 (it is released) or has had its whole term. An owner that
// wakes after that finds its nonce gone from the intent's stamp, and applies its
// change again or answers 504 (I3).

// joinable tells whether a private write may join sn's intent.
func (s *Store) joinable(ref objectRef, sn snapshot) bool {
	it := sn.intent
	return sn.there() && sn.revision == it.BaseRevision &&
		(it.Released || s.hub.expiry.expired(s.keys.intent(ref), it, s.hub.clock.Now()))
}

// release says of an intent that its owner has given its answer, without knowing
// the outcome. If that fails, the intent's deadline says it, later.
func (s *Store) release(ctx context.Context, ref objectRef, it *intent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.hub.putTimeout)
	defer cancel()
	released := *it
	released.Released = true
	value, err := json.Marshal(released)
	if err != nil {
		return
	}
	s.hub.step(string(it.Op) + ".before-release")
	key := s.keys.intent(ref)
	_, _ = s.txn(ctx, "release", []clientv3.Cmp{at(key, it.modRevision)}, []clientv3.Op{clientv3.OpPut(key, string(value))})
}

// join makes obj, which differs from sn's object in its private part alone, the
// view, and merges the difference into sn's intent. What can't join waits until the
// intent is settled.
func (u *update) join(ctx context.Context, sn snapshot, obj runtime.Object) (outcome, error) {
	data, err := u.encode(obj)
	if err != nil {
		return finished, err
	}
	it, err := u.joined(ctx, sn, obj, data)
	if err == nil {
		u.hub.step("update.join.before-view")
		err = u.putView(ctx, u.ref, sn.view, obj, sn.stamp, guard{intent: sn.intent, joined: it}, u.out)
	}
	switch {
	case errors.Is(err, errUnmergeable), errors.Is(err, atproto.ErrTooLarge): // it would hold the object twice
		return again, u.awaitIntent(ctx, u.ref, sn.intent, nil)
	case errors.Is(err, errMoved):
		return again, nil
	}
	return finished, unanswered(err)
}

// joined is sn's intent, with the private change from sn's object to obj in it.
func (u *update) joined(ctx context.Context, sn snapshot, obj runtime.Object, data []byte) (*intent, error) {
	it := *sn.intent
	it.Joined = true
	it.Stamp.Nonce = u.hub.nonce() // its owner can't find itself any more
	if it.Op == opDelete {
		return &it, sameForDeletion(sn.obj, obj)
	}
	key := authenticatedKey(u.keys.intent(u.ref))
	intended, _, err := u.transformer.TransformFromStorage(ctx, it.Object, key)
	if err != nil {
		return nil, storage.NewInternalError(err)
	}
	merged, err := u.merge(sn.data, intended, data)
	if err != nil {
		return nil, err
	}
	if it.Object, err = u.encode(merged); err != nil {
		return nil, err
	}
	if it.Object, err = u.transformer.TransformToStorage(ctx, it.Object, key); err != nil {
		return nil, storage.NewInternalError(err)
	}
	return &it, nil
}

// sameForDeletion refuses what a deletion that is sent already would have had to
// heed: a finalizer that is added now would be acknowledged and not waited for.
func sameForDeletion(before, after runtime.Object) error {
	a, err := meta.Accessor(before)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnmergeable, err)
	}
	b, err := meta.Accessor(after)
	if err != nil || !slices.Equal(a.GetFinalizers(), b.GetFinalizers()) {
		return errUnmergeable
	}
	return nil
}
