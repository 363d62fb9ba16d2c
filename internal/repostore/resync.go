package repostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// resync compares the whole repository unless the views have reached rev while it
// waited for its turn.
func (m *mount) resync(ctx context.Context, rev string) error {
	if err := m.syncing.take(ctx); err != nil {
		return err
	}
	defer m.syncing.give()
	if m.progress.reached(rev) {
		return nil
	}
	_, g := m.progress.tasks()
	if err := m.compareLocked(ctx, g, rev, true); err != nil {
		return err
	}
	if !m.progress.reached(rev) {
		return fmt.Errorf("%w: it exported a state that is older than rev %s", atproto.ErrUnavailable, rev)
	}
	return nil
}

// compare closes a gap. A record that another write holds is left in line: the
// rest of the repository doesn't wait for it.
func (m *mount) compare(ctx context.Context, g gap) error {
	if err := m.syncing.take(ctx); err != nil {
		return err
	}
	defer m.syncing.give()
	head, err := m.latest(ctx)
	if err != nil {
		return err
	}
	if known := m.progress.knownRev(); known == head.Rev && !g.lost {
		m.progress.compared(known, g, nil) // whatever was missed before the gap, nothing is later than the views
		return nil
	}
	return m.compareLocked(ctx, g, head.Rev, false)
}

// compareLocked finds every record whose view shows something else, and ingests
// it. The views are read before the records (I4, I5); head was read before both, for
// it is what the views have reached afterwards: a listing is no snapshot, but a
// record that did not change since is in it exactly as it is. The horizon rises to
// head first, so that no view becomes older than that once it was read here. With
// wait it returns when all are ingested; else those that a write in flight holds
// stay in line.
func (m *mount) compareLocked(ctx context.Context, g gap, head string, wait bool) (err error) {
	if !g.open() {
		metrics.Resync(metrics.ConsistentRead)
	} else {
		metrics.Resync(g.reason)
	}
	ctx, span := m.recordSpan(ctx, "compare", atproto.Key{})
	defer func() { span.End(kindOf(err)) }()
	if err := m.raiseHorizon(ctx, head); err != nil {
		return err
	}
	stores := m.hub.allStores()
	comparison := m.beginComparison(stores)
	defer func() { m.endComparison(comparison, err == nil) }()
	m.hub.step("compare.before-views")
	begin := m.hub.clock.Now()
	before, err := m.hub.revision(ctx)
	if err != nil {
		return err
	}
	shown := map[atproto.Key]shownView{}
	for _, s := range stores {
		if err := s.shownViews(ctx, m, shown); err != nil {
			return err
		}
	}
	m.big.Store(len(shown) > smallRepo)
	m.hub.step("compare.before-listing")
	held, exported, err := m.records(ctx, stores, len(shown))
	if err != nil {
		return err
	}
	todo, err := m.different(ctx, stores, shown, held, comparison)
	if err != nil {
		return err
	}
	if exported.Rev != "" {
		if todo, err = m.rebuild(ctx, todo, held, exported.Rev); err != nil {
			return err
		}
	}
	busy, err := m.ingestAll(ctx, todo, wait)
	if err != nil {
		return err
	}
	if m.progress.knownRev() == "" {
		for _, s := range stores {
			if err := s.forgetIdentities(ctx, m, held, before); err != nil {
				return err
			}
		}
	}
	reached := head
	if exported.Rev != "" {
		reached = min(head, exported.Rev) // an export may be of an older state
	}
	klog.FromContext(ctx).V(2).Info("The repository was compared", "atprotorepo", klog.KRef(m.Workspace, m.Name),
		"records", len(held), "rev", reached, "took", m.hub.clock.Since(begin).Round(time.Millisecond))
	m.progress.compared(reached, g, busy)
	m.answered(head, nil)
	return nil
}

// different lists the records to be ingested: those whose view shows something
// else. Of a repository that is not the default, only records that an object has
// bound count, and those for which a collection has room; its others may be many,
// and each would cost a request. So it is with the default's where the workspace is
// bounded.
func (m *mount) different(ctx context.Context, stores []*Store, shown map[atproto.Key]shownView, held map[atproto.Key]atproto.Record, comparison comparison) ([]atproto.Key, error) {
	room, err := m.hub.free(ctx, m.Workspace)
	if err != nil {
		return nil, err
	}
	free, all := room.records(), m.Default && !room.limited
	claimed, detached, err := m.bindings(ctx, stores, all)
	if err != nil {
		return nil, err
	}
	var todo []atproto.Key
	waiting := m.deferredKeys()
	unbound := map[string][]atproto.Key{}
	for key, rec := range held {
		v, ok := shown[key]
		if !ok && claimed[key] && !detached[key] {
			free-- // it had an object, and gets it again
		}
		switch {
		case ok && v.cid == rec.CID, !ok && detached[key]:
		case ok, all, claimed[key]:
			todo = append(todo, key)
		case waiting[key]: // for a name, not for room
		default:
			unbound[key.Collection] = append(unbound[key.Collection], key)
		}
	}
	for nsid, b := range comparison.beyond {
		slices.SortFunc(unbound[nsid], byRKey)
		keys, err := m.fill(ctx, nsid, comparison.collected[nsid], b, unbound[nsid], max(0, free))
		if err != nil {
			return nil, err
		}
		free -= len(keys)
		todo = append(todo, keys...)
	}
	for key := range detached {
		if _, ok := held[key]; !ok {
			todo = append(todo, key) // it is gone, and so the memory of it
		}
	}
	for key, v := range shown {
		if _, ok := held[key]; !ok && v.cid != "" {
			todo = append(todo, key)
		}
	}
	for key := range waiting {
		if _, ok := held[key]; !ok && shown[key].cid == "" {
			todo = append(todo, key) // it waits no more: it is gone
		}
	}
	return todo, nil
}

// bindings are the records that objects claim, where not all appear in any case, and
// those that are detached.
func (m *mount) bindings(ctx context.Context, stores []*Store, all bool) (claimed, detached map[atproto.Key]bool, err error) {
	claimed, detached = map[atproto.Key]bool{}, map[atproto.Key]bool{}
	for _, s := range stores {
		if !all {
			if err := s.claims(ctx, m, claimed); err != nil {
				return nil, nil, err
			}
		}
		if err := s.detachedOf(ctx, m, detached); err != nil {
			return nil, nil, err
		}
	}
	return claimed, detached, nil
}

// claims adds the records that an object has, and those that a dropped intent may
// still make one's.
func (s *Store) claims(ctx context.Context, m *mount, into map[atproto.Key]bool) error {
	ids, err := s.identities(ctx, m)
	if err != nil {
		return err
	}
	for rkey := range ids {
		into[atproto.Key{Collection: s.mapper.Collection(), RKey: rkey}] = true
	}
	return s.hub.eachKey(ctx, s.keys.tombstonesIn(s.resourcePrefix, m.Workspace), func(_ string, value []byte, modRevision int64) error {
		it, err := decodeIntent(value, modRevision)
		if err != nil {
			return err
		}
		if uri, ok := parseURI(it.URI); ok && uri.did == m.Repo.DID() {
			into[uri.Key] = true
		}
		return nil
	})
}

// ingestAll ingests many records, and returns those that are busy where it does
// not wait for them.
func (m *mount) ingestAll(ctx context.Context, keys []atproto.Key, wait bool) (busy []atproto.Key, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, key := range keys {
		g.Go(func() error {
			err := m.hub.storeFor(key.Collection).ingest(ctx, m, key, ingestOptions{wait: wait})
			if errors.Is(err, ErrBusy) && !wait {
				mu.Lock()
				defer mu.Unlock()
				busy = append(busy, key)
				return nil
			}
			return err
		})
	}
	err = g.Wait()
	return busy, err
}

// shownView is what a view says of its record.
type shownView struct{ cid, rev string }

// shownViews reads the stamps of all views of a workspace that show this
// repository.
func (s *Store) shownViews(ctx context.Context, m *mount, into map[atproto.Key]shownView) error {
	prefix := s.keys.views() + makeRef(s.resourcePrefix, m.Workspace, "").key
	return s.hub.eachKey(ctx, prefix, func(_ string, value []byte, _ int64) error {
		st, _, err := openStamp(value)
		if err != nil {
			return nil //nolint:nilerr // a damaged view hides no other; reading it says what is wrong
		}
		if uri, ok := parseURI(st.URI); ok && uri.did == m.Repo.DID() {
			into[uri.Key] = shownView{st.CID, st.Rev}
		}
		return nil
	})
}
