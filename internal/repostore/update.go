package repostore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// GuaranteedUpdate changes an object. A change of its declaration is a put that
// must win its swap; any other is one transaction in etcd. The suggested cached
// object is not used: the stamp is known from a read alone.
func (s *Store) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object) error {
	ref, err := s.ref(key)
	if err != nil {
		return err
	}
	u := update{Store: s, ref: ref, out: out, ignoreNotFound: ignoreNotFound, pre: pre, tryUpdate: tryUpdate}
	err = u.run(ctx)
	return notAgain(ctx, nil, s.fail(err, ref))
}

// update is one GuaranteedUpdate.
type update struct {
	*Store
	ref            objectRef
	out            runtime.Object
	ignoreNotFound bool
	pre            *storage.Preconditions
	tryUpdate      storage.UpdateFunc
	// committed: a put of this update stands, but its private part is not in the
	// view yet. From then on it can't fail as if nothing had been written.
	committed bool
}

func (u *update) run(ctx context.Context) error {
	for i := range attempts {
		done, err := u.once(ctx, i == 0)
		if done == finished || err != nil {
			return u.standing(err)
		}
		u.committed = u.committed || done == repair
		u.hub.step("update.retry")
		if err := u.pause(ctx, i); err != nil {
			return u.standing(err)
		}
	}
	return u.standing(u.contended(u.ref))
}

// standing is err, with the word that a put of this update stands where one does.
func (u *update) standing(err error) error {
	if err == nil || !u.committed {
		return err
	}
	return fmt.Errorf("%s %q: %w: %w", u.resource.Resource, u.ref.name, ErrOvertaken, err)
}

func (u *update) once(ctx context.Context, first bool) (outcome, error) {
	sn, err := u.look(ctx, u.ref)
	if err != nil {
		return finished, err
	}
	if sn.intent != nil && !u.joinable(u.ref, sn) {
		return again, u.awaitIntent(ctx, u.ref, sn.intent, func(sn snapshot) bool { return u.joinable(u.ref, sn) })
	}
	if !sn.there() && first { // its record may be there
		if sn, err = u.current(ctx, u.ref); err != nil {
			return finished, err
		}
		if sn.intent != nil {
			return again, nil
		}
	}
	if !sn.there() {
		if !u.ignoreNotFound {
			return finished, storage.NewKeyNotFoundError(u.keys.view(u.ref), 0)
		}
		return u.createMissing(ctx)
	}
	if err := u.pre.Check(u.keys.view(u.ref), sn.obj); err != nil {
		return finished, err
	}
	obj, err := u.apply(sn.obj.DeepCopyObject(), storage.ResponseMeta{ResourceVersion: uint64(sn.revision)})
	if err != nil {
		return finished, err
	}
	return u.write(ctx, sn, obj)
}

// apply calls the caller's function.
func (u *update) apply(obj runtime.Object, res storage.ResponseMeta) (runtime.Object, error) {
	obj, ttl, err := u.tryUpdate(obj, res)
	if err != nil {
		return nil, &callerError{err}
	}
	if ttl != nil && *ttl != 0 {
		return nil, ErrTTL
	}
	return obj.DeepCopyObject(), nil
}

// createMissing is an update of an object that is not there.
func (u *update) createMissing(ctx context.Context) (outcome, error) {
	obj := u.mapper.New()
	if err := u.pre.Check(u.keys.view(u.ref), obj); err != nil {
		return finished, err
	}
	obj, err := u.apply(obj, storage.ResponseMeta{})
	if err != nil {
		return finished, err
	}
	if err := u.versioner.PrepareObjectForStorage(obj); err != nil {
		return finished, fmt.Errorf("prepare object for storage: %w", err)
	}
	err = u.create(ctx, u.ref, obj, u.out)
	if storage.IsExist(err) {
		return again, nil
	}
	return finished, err
}

// write decides what obj over sn is: nothing, a private write, or a public one.
func (u *update) write(ctx context.Context, sn snapshot, obj runtime.Object) (outcome, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return finished, err
	}
	if u.annotated {
		u.annotate(accessor, u.ref.workspace)
	}
	if err := u.mayTerminate(ctx, sn, obj); err != nil {
		return finished, err
	}
	u.mapper.SetRecordStatus(obj, u.mapper.RecordStatus(sn.obj)) // the storage's alone
	was, is := u.mapper.Binding(sn.obj), u.mapper.Binding(obj)
	same, err := u.sameDeclaration(sn.obj, obj)
	if err != nil {
		return finished, err
	}
	if sn.intent != nil {
		if same && was == is {
			return u.join(ctx, sn, obj)
		}
		return again, u.awaitIntent(ctx, u.ref, sn.intent, nil)
	}
	switch {
	case sn.stamp.bound() && is.RepoName == "":
		return u.unbind(ctx, sn, obj)
	case !sn.stamp.bound() && is.RepoName != "" && was != is:
		return u.rebind(ctx, sn, obj)
	case was.RepoName != is.RepoName || was.URI != is.URI:
		return finished, fmt.Errorf("%w: repoRef and uri can't change; remove spec.record first, then bind anew", ErrBinding)
	}
	if same || !sn.stamp.bound() {
		return u.private(ctx, sn, obj, sn.stamp)
	}
	switch {
	case sn.stamp.orphaned():
		return finished, ErrDeclarationFrozen
	case sn.stamp.Invalid != "":
		return finished, fmt.Errorf("%w (%s); mend or delete the record %s in its repository", ErrRecordInvalid, sn.stamp.Invalid, sn.stamp.URI)
	}
	m, uri, err := u.mountFor(u.ref.workspace, sn.stamp.URI)
	if err == nil {
		err = writable(m)
	}
	if err != nil {
		return finished, err
	}
	u.clearCondition(obj, ConditionSyncConflict, "NoConflict", "a later write of the declaration succeeded")
	return u.try(ctx, publicWrite{op: opUpdate, ref: u.ref, mount: m, uri: uri, base: sn.view, obj: obj, direction: Pushed}, u.out)
}

// private writes what no record shows. It doesn't ask the PDS, so it works
// through an outage.
func (u *update) private(ctx context.Context, sn snapshot, obj runtime.Object, st stamp, extra ...clientv3.Op) (outcome, error) {
	data, err := u.encode(obj)
	if err != nil {
		return finished, err
	}
	if bytes.Equal(data, sn.data) && !sn.stale && len(extra) == 0 {
		return finished, u.decodeInto(sn.data, sn.revision, u.out)
	}
	u.hub.step("update.private.before-view")
	err = u.putView(ctx, u.ref, sn.view, obj, st, guard{}, u.out, extra...)
	if errors.Is(err, errMoved) {
		return again, nil
	}
	return finished, unanswered(err)
}

// unbind ends the binding: the record stays, detached, and the object lives on
// privately.
func (u *update) unbind(ctx context.Context, sn snapshot, obj runtime.Object) (outcome, error) {
	if same, err := u.sameDeclaration(sn.obj, obj); err != nil {
		return finished, err
	} else if !same && sn.stamp.orphaned() {
		return finished, ErrDeclarationFrozen
	}
	u.mapper.SetRecordStatus(obj, nil)
	var extra []clientv3.Op
	if uri, ok := parseURI(sn.stamp.URI); ok && !sn.stamp.orphaned() {
		extra = append(extra, u.detachOp(u.ref.workspace, uri))
	}
	return u.private(ctx, sn, obj, stamp{}, extra...)
}

// rebind binds a private object: without a uri it publishes a record of its own,
// with one it follows a record that exists.
func (u *update) rebind(ctx context.Context, sn snapshot, obj runtime.Object) (outcome, error) {
	m, uri, follow, err := u.bind(u.ref, obj)
	switch {
	case err != nil:
		return finished, err
	case follow:
		return u.follow(ctx, u.ref, sn.view, m, uri, obj, u.out)
	}
	done, err := u.try(ctx, publicWrite{op: opCreate, ref: u.ref, mount: m, uri: uri, base: sn.view, obj: obj, direction: Created}, u.out)
	if done != finished && err == nil {
		if detached, derr := u.isDetached(ctx, u.ref.workspace, uri); derr != nil || detached {
			return finished, errors.Join(derr, fmt.Errorf("%w: %s exists; set spec.record.uri to it to bind it again", ErrBinding, uri))
		}
		return retryOr(u.occupied(ctx, m, u.ref, uri))
	}
	return done, err
}

// awaitIntent returns when the write in flight has ended, for which it asks etcd.
// Now and then it looks at the record too: if its owner is gone, that settles it.
// That this fails is told once the owner can't be at work any more, unless the
// caller needs no settlement: it goes on as soon as enough says so.
func (s *Store) awaitIntent(ctx context.Context, ref objectRef, it *intent, enough func(snapshot) bool) error {
	m, uri, err := s.mountFor(ref.workspace, it.URI)
	if err != nil && enough == nil {
		return err
	}
	const lookEvery = 32 // pauses, about 0.7 s
	for i := 0; ; i++ {
		if i%lookEvery == 0 && m != nil {
			s.hub.step("await-intent")
			err := s.ingest(ctx, m, uri.Key, ingestOptions{object: &ref})
			ended := s.hub.clock.Now().After(it.Deadline.Add(s.hub.putTimeout - s.hub.intentTerm))
			if err != nil && ended && enough == nil && !errors.Is(err, ErrBusy) {
				return err
			}
		}
		sn, err := s.look(ctx, ref)
		if err != nil {
			return err
		}
		if sn.intent == nil || sn.intent.Nonce != it.Nonce || enough != nil && enough(sn) {
			return nil
		}
		if err := s.pause(ctx, min(i, 20)); err != nil {
			return err
		}
	}
}
