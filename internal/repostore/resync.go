package repostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/internal/atproto"
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
	return m.compareLocked(ctx, g, rev, true)
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
	return m.compareLocked(ctx, g, head.Rev, false)
}

// compareLocked finds every record whose view shows something else, and ingests
// it. The views are read before the records (I4, I5); head was read before both, for
// it is what the views have reached afterwards: a listing is no snapshot, but a
// record that did not change since is in it exactly as it is. With wait it returns
// when all are ingested; else those that a write in flight holds stay in line.
func (m *mount) compareLocked(ctx context.Context, g gap, head string, wait bool) error {
	before, err := m.hub.revision(ctx)
	if err != nil {
		return err
	}
	stores := m.hub.allStores()
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
	todo, err := m.different(ctx, stores, shown, held)
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
		reached = exported.Rev // what the views show now, whatever the head was
	}
	m.progress.compared(reached, g, busy)
	m.answered(head, nil)
	return nil
}

// different lists the records to be ingested: those whose view shows something
// else. Of a repository that is not the default, only records that an object has
// bound count; its others may be many, and each would cost a request.
func (m *mount) different(ctx context.Context, stores []*Store, shown map[atproto.Key]shownView, held map[atproto.Key]atproto.Record) ([]atproto.Key, error) {
	claimed := map[atproto.Key]bool{}
	if !m.Default {
		for _, s := range stores {
			if err := s.claims(ctx, m, claimed); err != nil {
				return nil, err
			}
		}
	}
	var todo []atproto.Key
	for key, rec := range held {
		if v, ok := shown[key]; ok && v.cid != rec.CID || !ok && (m.Default || claimed[key]) {
			todo = append(todo, key)
		}
	}
	for key, v := range shown {
		if _, ok := held[key]; !ok && v.cid != "" {
			todo = append(todo, key)
		}
	}
	for key := range m.deferredKeys() {
		if _, ok := held[key]; !ok && shown[key].cid == "" {
			todo = append(todo, key) // it waits no more: it is gone
		}
	}
	return todo, nil
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
	dropped := strings.TrimSuffix(s.keys.tombstones(makeRef(s.resourcePrefix, m.Workspace, "")), "/")
	return s.hub.eachKey(ctx, dropped, func(_ string, value []byte, modRevision int64) error {
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

// smallRepo is up to how many views a listing is cheaper than an export.
const smallRepo = 300

// records reads what the repository holds of our collections: a verified export
// where there is much to compare, else, or where the PDS can't give a consistent
// one, a listing. exported is the commit of an export.
func (m *mount) records(ctx context.Context, stores []*Store, expected int) (map[atproto.Key]atproto.Record, atproto.Commit, error) {
	if m.progress.knownRev() == "" || expected > smallRepo {
		collections := make([]string, 0, len(stores))
		for _, s := range stores {
			collections = append(collections, s.mapper.Collection())
		}
		held, commit, err := m.Repo.Export(ctx, collections)
		if err == nil {
			return held, commit, nil
		}
		if !errors.Is(err, atproto.ErrIncomplete) {
			m.answered("", err)
			return nil, atproto.Commit{}, err
		}
	}
	held := map[atproto.Key]atproto.Record{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range stores {
		g.Go(func() error {
			return m.listing(ctx, s.mapper.Collection(), func(key atproto.Key, rec atproto.Record) {
				mu.Lock()
				defer mu.Unlock()
				held[key] = rec
			})
		})
	}
	err := g.Wait()
	if err != nil {
		m.answered("", err)
	}
	return held, atproto.Commit{}, err
}

// listing walks a collection. The last page may still have a cursor; only an
// empty page ends the walk for certain, or one without a cursor.
func (m *mount) listing(ctx context.Context, collection string, add func(atproto.Key, atproto.Record)) error {
	const limit = 100
	for cursor := ""; ; {
		page, next, err := m.Repo.ListRecords(ctx, collection, cursor, limit)
		if err != nil {
			return err
		}
		for _, r := range page {
			add(atproto.Key{Collection: collection, RKey: r.RKey}, r.Record)
		}
		if next == "" || len(page) == 0 {
			return nil
		}
		cursor = next
	}
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

// revision is etcd's now.
func (h *Hub) revision(ctx context.Context) (int64, error) {
	resp, err := h.etcd.Get(ctx, h.keys.prefix, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	return resp.Header.Revision, nil
}

// eachKey walks a prefix in pages, at one revision.
func (h *Hub) eachKey(ctx context.Context, prefix string, f func(key string, value []byte, modRevision int64) error) error {
	const page = 500
	key, end, revision := prefix, clientv3.GetPrefixRangeEnd(prefix), int64(0)
	for {
		resp, err := h.etcd.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
		if err != nil {
			return fmt.Errorf("read %s: %w", prefix, err)
		}
		for _, kv := range resp.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return err
			}
		}
		if !resp.More {
			return nil
		}
		revision = resp.Header.Revision
		key = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// forgetIdentities drops, at the first comparison, the identities that neither a
// record nor a view has any more: the record was deleted while the views were
// lost. One that comes again is a new object. before is etcd's revision before
// the records were read: an identity of later belongs to a record of later.
func (s *Store) forgetIdentities(ctx context.Context, m *mount, held map[atproto.Key]atproto.Record, before int64) error {
	prefix := s.keys.uids(s.resource.Resource, m.Workspace, m.Repo.DID())
	return s.hub.eachKey(ctx, prefix, func(key string, value []byte, modRevision int64) error {
		if _, ok := held[atproto.Key{Collection: s.mapper.Collection(), RKey: strings.TrimPrefix(key, prefix)}]; ok || modRevision > before {
			return nil
		}
		id, err := decodeIdentity(value)
		if err != nil {
			return err
		}
		ref := makeRef(s.resourcePrefix, m.Workspace, id.Name)
		_, err = s.txn(ctx, "forget",
			[]clientv3.Cmp{at(key, modRevision), absent(s.keys.view(ref)), absent(s.keys.intent(ref))},
			[]clientv3.Op{clientv3.OpDelete(key)})
		return err
	})
}
