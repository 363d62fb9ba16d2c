package repostore

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// rebuildMin is from how many records on it is worth making their views without
// looking at each before.
const rebuildMin = 25

// rebuild makes the views of many records from an export: a start with an empty
// cache. It takes only records that have no view, no intent, no memory of being
// detached or dropped; whatever its transactions don't get in is left to ingest,
// which looks at each. What is left is returned.
func (m *mount) rebuild(ctx context.Context, todo []atproto.Key, held map[atproto.Key]atproto.Record, rev string) ([]atproto.Key, error) {
	if len(todo) < rebuildMin || !m.Default && !m.collects() {
		return todo, nil
	}
	var left []atproto.Key
	byCollection := map[string][]atproto.Key{}
	for _, key := range todo {
		if _, ok := held[key]; ok {
			byCollection[key.Collection] = append(byCollection[key.Collection], key)
		} else {
			left = append(left, key)
		}
	}
	for collection, keys := range byCollection {
		r := &rebuilder{Store: m.hub.storeFor(collection), m: m, held: held, rev: rev, by: m.collection(collection)}
		if err := r.all(ctx, keys); err != nil {
			return nil, err
		}
		left = append(left, r.left...)
	}
	return left, nil
}

// rebuilder makes the views of one kind.
type rebuilder struct {
	*Store
	m     *mount
	by    *Collection // by which new ones appear; nil: by none
	held  map[atproto.Key]atproto.Record
	rev   string // of the export
	ids   map[string]*identity
	fence bool // a record of the repository was deleted some time

	mu   sync.Mutex
	left []atproto.Key
}

func (r *rebuilder) leave(keys ...atproto.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, keys...)
}

// all makes the views of keys, many at once.
func (r *rebuilder) all(ctx context.Context, keys []atproto.Key) (err error) {
	if r.ids, err = r.identities(ctx, r.m); err != nil {
		return err
	}
	if r.fence, err = r.hub.exists(ctx, r.keys.fence(r.m.Workspace, r.m.Repo.DID())); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rebuildParallel)
	for _, key := range r.named(r.admitted(keys)) {
		group.Go(func() error { return r.one(ctx, key) })
	}
	return group.Wait()
}

// admitted leaves out what was never seen and has no room for certain: near the
// bound of a collection one at a time appears, by ingest.
func (r *rebuilder) admitted(keys []atproto.Key) []atproto.Key {
	if r.m.Default {
		return keys
	}
	room := 0
	if r.by != nil {
		room = r.by.MaxItems - len(r.ids) - roomMargin
	}
	return slices.DeleteFunc(keys, func(key atproto.Key) bool {
		if r.ids[key.RKey] != nil {
			return false
		}
		if room--; room >= 0 {
			return false
		}
		r.leave(key)
		return true
	})
}

// named leaves out the records whose name is another record's too, but for one that
// has it from before.
func (r *rebuilder) named(keys []atproto.Key) []atproto.Key {
	claims := map[string]int{}
	for _, key := range keys {
		claims[r.nameOf(key)]++
	}
	return slices.DeleteFunc(keys, func(key atproto.Key) bool {
		if claims[r.nameOf(key)] == 1 || r.ids[key.RKey] != nil {
			return false
		}
		r.leave(key)
		return true
	})
}

// nameOf is the name of a record's object.
func (r *rebuilder) nameOf(key atproto.Key) string {
	if id := r.ids[key.RKey]; id != nil {
		return id.Name
	}
	return NameOf(key.RKey)
}

// settled says at once what the publisher would say of each object in a
// transaction of its own: nothing is left to be written to its record.
func (s *Store) settled(obj runtime.Object, st stamp) error {
	if st.Invalid != "" {
		return nil
	}
	ours, err := s.renderedStatus(view{stamp: st}, obj)
	if err != nil || ours != st.Status {
		return err
	}
	return s.setRecordStatus(obj, st, InSync)
}

// identities of a repository's records, by rkey.
func (s *Store) identities(ctx context.Context, m *mount) (map[string]*identity, error) {
	ids := map[string]*identity{}
	prefix := s.keys.uids(s.resource.Resource, m.Workspace, m.Repo.DID())
	err := s.hub.eachKey(ctx, prefix, func(key string, value []byte, _ int64) (err error) {
		ids[key[len(prefix):]], err = decodeIdentity(value)
		return err
	})
	return ids, err
}
