package repostore

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Create makes an object, and its record where it is bound to a repository.
func (s *Store) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	ref, err := s.ref(key)
	if err != nil {
		return err
	}
	if version, err := s.versioner.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	if ttl != 0 {
		return s.fail(ErrTTL, ref)
	}
	// As the stock store does: the caller's object loses its version.
	if err := s.versioner.PrepareObjectForStorage(obj); err != nil {
		return fmt.Errorf("prepare object for storage: %w", err)
	}
	if out == nil {
		out = s.mapper.New()
	}
	err = s.create(ctx, ref, obj.DeepCopyObject(), out)
	return notAgain(ctx, obj, s.fail(err, ref))
}

func (s *Store) create(ctx context.Context, ref objectRef, obj, out runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if s.annotated {
		s.annotate(accessor, ref.workspace)
	}
	if s.mapper.ManagesGeneration() {
		accessor.SetGeneration(1)
	}
	m, uri, follow, err := s.bind(ref, obj)
	if err != nil {
		return err
	}
	if !follow {
		s.mapper.FirstSight(obj, s.sight(nil, nil))
	}
	for i := range attempts {
		sn, err := s.look(ctx, ref)
		if err != nil {
			return err
		}
		if sn.there() {
			if sn, err = s.current(ctx, ref); err != nil { // its record may be gone
				return err
			}
		}
		if sn.there() {
			return storage.NewKeyExistsError(s.keys.view(ref), 0)
		}
		done := again
		switch {
		case m == nil:
			done, err = s.createPrivate(ctx, ref, obj, out)
		case follow:
			done, err = s.follow(ctx, ref, view{}, m, uri, obj, out)
		case sn.intent != nil:
			err = s.awaitIntent(ctx, ref, sn.intent, nil)
		default:
			done, err = s.createRecord(ctx, ref, m, uri, obj, out)
		}
		if done == finished || err != nil {
			return err
		}
		if err := s.pause(ctx, i); err != nil {
			return err
		}
	}
	return s.contended(ref)
}

func (s *Store) createPrivate(ctx context.Context, ref objectRef, obj, out runtime.Object) (outcome, error) {
	s.mapper.SetRecordStatus(obj, nil)
	err := s.putView(ctx, ref, view{}, obj, stamp{}, guard{}, out)
	if errors.Is(err, errMoved) {
		return again, nil
	}
	return finished, unanswered(err)
}

func (s *Store) createRecord(ctx context.Context, ref objectRef, m *mount, uri recordURI, obj, out runtime.Object) (outcome, error) {
	done, err := s.try(ctx, publicWrite{op: opCreate, ref: ref, mount: m, uri: uri, obj: obj, direction: Created}, out)
	if done == finished || err != nil {
		return finished, err
	}
	// A record that exists but is detached is served by no object.
	detached, err := s.isDetached(ctx, ref.workspace, uri)
	if err != nil {
		return finished, err
	}
	if detached {
		return finished, fmt.Errorf("%w: %s; set spec.record.uri to it to bind it again", ErrDetachedExists, uri)
	}
	return retryOr(s.occupied(ctx, m, ref, uri))
}

// occupied says why a record can't be created: there is one, and no ingest makes
// it this object's. nil: the race is worth another try.
func (s *Store) occupied(ctx context.Context, m *mount, ref objectRef, uri recordURI) error {
	_, sn, err := s.lookRecord(ctx, ref.workspace, uri, &ref)
	switch {
	case err != nil:
		return err
	case sn.identity != nil && sn.identity.Name != ref.name:
		return servedAlready(uri, sn.identity)
	case sn.identity != nil, sn.intent != nil, m.Default && !sn.there():
		return nil
	}
	cid, err := cidOf(ctx, m, uri)
	if err != nil || cid == "" {
		return err
	}
	return fmt.Errorf("%w: %s exists; set spec.record.uri to it to bind it", ErrBinding, uri)
}

func servedAlready(uri recordURI, id *identity) error {
	return fmt.Errorf("%w: %s is served as %q already", ErrBinding, uri, id.Name)
}

// bind decides in which repository obj's record lies, and writes that into it. A
// nil mount is an object without a record; follow tells that the record exists.
func (s *Store) bind(ref objectRef, obj runtime.Object) (m *mount, uri recordURI, follow bool, err error) {
	b := s.mapper.Binding(obj)
	if b.RepoName == "" {
		if m = s.hub.defaultMount(ref.workspace); m == nil {
			return nil, recordURI{}, false, s.hub.noDefault(ref.workspace)
		}
		b.RepoName = m.Name
		s.mapper.SetBinding(obj, b)
	} else if m = s.hub.mountNamed(ref.workspace, b.RepoName); m == nil {
		if err := s.hub.mountsLoaded(); err != nil {
			return nil, recordURI{}, false, err
		}
		return nil, recordURI{}, false, fmt.Errorf("%w: %q", ErrNoSuchRepo, b.RepoName)
	}
	if m.Closing {
		return nil, recordURI{}, false, beingDeleted(m.Name)
	}
	own := recordURI{did: m.Repo.DID()}
	own.Collection, own.RKey = s.mapper.Collection(), ref.name
	if b.URI == "" {
		return m, own, false, writable(m)
	}
	uri, ok := parseURI(b.URI)
	switch {
	case !ok || uri.Collection != own.Collection:
		return nil, recordURI{}, false, fmt.Errorf("%w: uri %q does not name a record of %s", ErrBinding, b.URI, own.Collection)
	case uri.did != own.did:
		return nil, recordURI{}, false, fmt.Errorf("%w: uri %q is not in the repository %s of AtprotoRepo %q", ErrBinding, b.URI, own.did, m.Name)
	case m.Access == AccessNone:
		return nil, recordURI{}, false, writable(m)
	}
	return m, uri, true, nil
}

// writable refuses a public write where the repository's access does.
func writable(m *mount) error {
	if m.Access == AccessReadWrite {
		return nil
	}
	return fmt.Errorf("%w: the access granted to AtprotoRepo %q is %s: to write its records, set its spec.access to ReadWrite and name credentials in spec.credentialsRef; its condition Authorized says what is missing",
		ErrAccess, m.Name, m.Access)
}

func notMounted(uri recordURI) error {
	return fmt.Errorf("%w: no AtprotoRepo of this workspace serves %s now", ErrNotMounted, uri.did)
}
