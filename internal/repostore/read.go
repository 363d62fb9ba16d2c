package repostore

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Get answers from the view once the PDS has confirmed that the record is what
// the view shows (I7). With a resourceVersion, and for internal callers, it never
// asks the PDS.
func (s *Store) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	ws, request := WorkspaceFrom(ctx)
	if opts.ResourceVersion != "" || !request || ws == AllWorkspaces {
		return s.Interface.Get(ctx, key, opts, out)
	}
	ref, err := s.ref(key)
	if err != nil {
		return err
	}
	sn, err := s.current(ctx, ref)
	if err != nil {
		return s.fail(err, ref)
	}
	if !sn.there() {
		if opts.IgnoreNotFound {
			return runtime.SetZeroValue(out)
		}
		return storage.NewKeyNotFoundError(s.keys.view(ref), 0)
	}
	return s.handOut(sn.view, out)
}

// current is the snapshot of an object that is as new as its record is now. For a
// name that has no view the whole workspace is brought up first.
func (s *Store) current(ctx context.Context, ref objectRef) (snapshot, error) {
	sn, ask, err := s.lookAndAsk(ctx, ref)
	if err != nil {
		return snapshot{}, err
	}
	s.remember(ref, sn)
	if !sn.there() {
		if err := s.hub.barrier(WithWorkspace(ctx, ref.workspace)); err != nil {
			return snapshot{}, err
		}
		if sn, err = s.look(ctx, ref); err == nil && !sn.there() {
			err = s.notLost(ctx, ref)
		}
		return sn, err
	}
	if !sn.stamp.bound() || sn.stamp.orphaned() {
		return sn, nil
	}
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if errors.Is(err, ErrNotMounted) {
		return sn, s.hub.unmounted(ctx, ref.workspace, uri)
	}
	if err != nil {
		return snapshot{}, err
	}
	if m.Access == AccessNone {
		return sn, nil
	}
	cid, err := ask.answer(ctx, m, uri)
	if err != nil {
		return sn, s.hub.staleOr(ctx, m, err)
	}
	if cid == sn.stamp.CID {
		return sn, nil
	}
	s.hub.step("get.before-ingest")
	if err := s.ingest(ctx, m, uri.Key, ingestOptions{wait: true}); err != nil {
		return sn, s.hub.staleOr(ctx, m, err)
	}
	return s.look(ctx, ref)
}

// mountFor is the mount of a record's repository.
func (s *Store) mountFor(ws, uri string) (*mount, recordURI, error) {
	u, ok := parseURI(uri)
	if !ok {
		return nil, recordURI{}, errors.New("the view has a malformed URI")
	}
	if m := s.hub.mountOf(ws, u.did); m != nil {
		return m, u, nil
	}
	return nil, u, notMounted(u)
}

// GetCurrentResourceVersion runs the barrier first, as the Cacher's does.
func (s *Store) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return cacheStorage{s.Interface, s.hub}.GetCurrentResourceVersion(ctx)
}

// GetList runs the barrier for a list that asks for the newest state; any other
// is the stock store's.
func (s *Store) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	if opts.ResourceVersion == "" && startsNow(opts, key) {
		if err := s.hub.barrier(ctx); err != nil {
			return readError(err)
		}
	}
	return s.Interface.GetList(ctx, key, opts, list)
}

// startsNow tells a list of the newest state from the later pages of one.
func startsNow(opts storage.ListOptions, key string) bool {
	if opts.Predicate.Continue == "" {
		return true
	}
	_, rv, err := storage.DecodeContinue(opts.Predicate.Continue, key)
	return err == nil && rv <= 0
}
