package repostore

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

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
