package repostore

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// A record of a repository that is only read can't be deleted, so its object can't
// be either: the record would appear again. Where nothing makes it appear, the
// object goes alone and the record stays as it was. It is not detached: what makes
// it appear some day is told so by somebody.
//
// Whoever read the record before the view was deleted makes it again only if the
// record's identity is still there, or if it appears by a collection that is not
// closing (appear.go, rebuildtxn.go).

// viewAlone tells whether the object of a record goes without its record. The error
// says why it can't go at all.
func (s *Store) viewAlone(ctx context.Context, ref objectRef, recordAt string) (bool, error) {
	m, uri, err := s.mountFor(ref.workspace, recordAt)
	switch {
	case err != nil:
		return false, err
	case m.Access == AccessReadWrite:
		return false, nil
	case m.Access == AccessNone || m.Withheld:
		return false, writable(m)
	}
	for _, o := range s.hub.mountsIn(ref.workspace) {
		if o.Repo.DID() != uri.did {
			continue
		}
		if o.Default {
			return false, fmt.Errorf("%w; it is the workspace's default, whose records appear by themselves: with spec.record.deletionPolicy Retain the object goes and its record stays", writable(o))
		}
		c := o.collection(uri.Collection)
		if c == nil {
			continue
		}
		// Its deletion may not have come to this replica yet.
		closing, err := s.hub.exists(ctx, s.keys.closing(ref.workspace, c.Owner.Name, c.Owner.UID))
		if err != nil {
			return false, err
		}
		if !closing {
			return false, fmt.Errorf("%w; %s %q makes its records appear: delete that, or, with spec.record.deletionPolicy Retain, this object goes and its record stays", writable(o), c.Owner.Kind, c.Owner.Name)
		}
	}
	return true, nil
}

// mayTerminate refuses a deletion that could not end, before the object's finalizers
// undo what it stands for.
func (u *update) mayTerminate(ctx context.Context, sn snapshot, obj runtime.Object) error {
	was, err := meta.Accessor(sn.obj)
	if err != nil {
		return err
	}
	is, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if was.GetDeletionTimestamp() != nil || is.GetDeletionTimestamp() == nil ||
		!sn.stamp.bound() || sn.stamp.orphaned() || u.mapper.Binding(obj).Retain {
		return nil
	}
	if _, err = u.viewAlone(ctx, u.ref, sn.stamp.URI); errors.Is(err, ErrNotMounted) {
		return nil // it may be by the time that the finalizers are gone
	}
	return err
}
