package repostore

import (
	"context"
	"errors"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// smallRepo is up to how many views a listing is cheaper than an export.
const smallRepo = 300

// errMany ends a listing that finds so many records more than there are views that
// an export is better: their views are made of it without asking for each again.
var errMany = errors.New("many records have no view")

// records reads what the repository holds of our collections: a verified export
// where there is much to compare, else, or where the PDS can't give a consistent
// one, a listing. exported is the commit of an export. expected is how many views
// show the repository.
func (m *mount) records(ctx context.Context, stores []*Store, expected int) (map[atproto.Key]atproto.Record, atproto.Commit, error) {
	if m.progress.knownRev() != "" && expected <= smallRepo {
		most := math.MaxInt
		if m.Default { // of another, few of many appear
			most = expected + smallRepo
		}
		held, err := m.listed(ctx, stores, most)
		if !errors.Is(err, errMany) {
			return held, atproto.Commit{}, err
		}
	}
	collections := make([]string, 0, len(stores))
	for _, s := range stores {
		collections = append(collections, s.mapper.Collection())
	}
	held, commit, err := m.Repo.Export(ctx, collections)
	switch {
	case err == nil:
		return held, commit, nil
	case errors.Is(err, atproto.ErrIncomplete):
		held, err = m.listed(ctx, stores, math.MaxInt)
		return held, atproto.Commit{}, err
	default:
		m.answered("", err)
		return nil, atproto.Commit{}, err
	}
}

// listed lists the collections of the stores. Where they hold more than most records
// it is errMany.
func (m *mount) listed(ctx context.Context, stores []*Store, most int) (map[atproto.Key]atproto.Record, error) {
	held := map[atproto.Key]atproto.Record{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range stores {
		g.Go(func() error {
			return m.listing(ctx, s.mapper.Collection(), func(key atproto.Key, rec atproto.Record) error {
				mu.Lock()
				defer mu.Unlock()
				held[key] = rec
				if len(held) > most {
					return errMany
				}
				return nil
			})
		})
	}
	err := g.Wait()
	if err != nil && !errors.Is(err, errMany) {
		m.answered("", err)
	}
	return held, err
}

// listing walks a collection until add fails. The last page may still have a cursor;
// only an empty page ends the walk for certain, or one without a cursor.
func (m *mount) listing(ctx context.Context, collection string, add func(atproto.Key, atproto.Record) error) error {
	const limit = 100
	for cursor := ""; ; {
		page, next, err := m.Repo.ListRecords(ctx, collection, cursor, limit)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := add(atproto.Key{Collection: collection, RKey: r.RKey}, r.Record); err != nil {
				return err
			}
		}
		if next == "" || len(page) == 0 {
			return nil
		}
		cursor = next
	}
}
