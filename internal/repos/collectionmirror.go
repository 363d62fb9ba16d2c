package repos

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// collectionKey names a collection.
type collectionKey struct {
	kind *collectionKind
	key
}

// seat is what one collection at most serves: the records of one kind in one
// AtprotoRepo.
type seat struct {
	kind *collectionKind
	repo key
}

func (c *collection) key() collectionKey {
	return collectionKey{c.kind, key{c.Annotations[repostore.ClusterAnnotation], c.Name}}
}

func (c *collection) seat() seat {
	return seat{c.kind, key{c.Annotations[repostore.ClusterAnnotation], c.Spec.RepoRef.Name}}
}

// collectionMirror holds the collections of all workspaces, and names each seat at
// which something changed.
type collectionMirror struct {
	change func(seat)

	mu     sync.Mutex // guards what follows
	all    map[collectionKey]*collection
	seats  map[seat]map[collectionKey]*collection // all, by what they are of
	missed map[*collectionKind]bool               // kinds that were not listed yet

	listed chan struct{} // closed once all kinds were listed
}

func newCollectionMirror(change func(seat)) *collectionMirror {
	m := &collectionMirror{
		change: change, all: map[collectionKey]*collection{}, seats: map[seat]map[collectionKey]*collection{},
		missed: map[*collectionKind]bool{}, listed: make(chan struct{}),
	}
	for _, k := range collectionKinds {
		m.missed[k] = true
	}
	return m
}

// follow lists and watches one kind until ctx ends.
func (m *collectionMirror) follow(ctx context.Context, kind *collectionKind, client versioned.Interface) {
	api := kind.api(client)
	lw := &cache.ListWatch{ListWithContextFunc: api.list, WatchFuncWithContext: api.watch}
	cache.NewReflectorWithOptions(inPages{lw}, kind.new(), mirrorOfKind{m, kind}, cache.ReflectorOptions{Name: kind.user + "s"}).RunWithContext(ctx)
}

// get returns a collection, not to be changed; nil: there is none.
func (m *collectionMirror) get(k collectionKey) *collection {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[k]
}

func (m *collectionMirror) keys() []collectionKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]collectionKey, 0, len(m.all))
	for k := range m.all {
		out = append(out, k)
	}
	return out
}

// at lists the collections of a seat.
func (m *collectionMirror) at(s seat) []*collection {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*collection, 0, len(m.seats[s]))
	for _, c := range m.seats[s] {
		out = append(out, c)
	}
	return out
}

// setLocked puts what is under a key, nil: nothing, and returns what was.
func (m *collectionMirror) setLocked(k collectionKey, c *collection) (was *collection) {
	was = m.all[k]
	if was != nil {
		delete(m.seats[was.seat()], k)
		if len(m.seats[was.seat()]) == 0 {
			delete(m.seats, was.seat())
		}
		delete(m.all, k)
	}
	if c != nil {
		if m.seats[c.seat()] == nil {
			m.seats[c.seat()] = map[collectionKey]*collection{}
		}
		m.all[k], m.seats[c.seat()][k] = c, c
	}
	return was
}

// holder is the collection that has the seat: the first that was created. One that is
// being deleted keeps it until it is gone: were its records to appear by another
// meanwhile, those that are only read could not go.
func (m *collectionMirror) holder(s seat) *collection {
	var first *collection
	for _, c := range m.at(s) {
		if first == nil || c.before(first) {
			first = c
		}
	}
	return first
}

// before orders collections by their creation. Of two that were created in the same
// second the one that has the seat keeps it.
func (c *collection) before(o *collection) bool {
	switch {
	case !c.CreationTimestamp.Equal(&o.CreationTimestamp):
		return c.CreationTimestamp.Before(&o.CreationTimestamp)
	case c.seated() != o.seated():
		return c.seated()
	default:
		return c.UID < o.UID
	}
}

// seated tells whether the status says that the collection has its seat.
func (c *collection) seated() bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason != v1alpha1.ReasonAlreadyCollected
}

// put takes a collection. What its own status says changes nothing, until it is being
// deleted.
func (m *collectionMirror) put(c *collection) {
	m.mu.Lock()
	was := m.setLocked(c.key(), c)
	m.mu.Unlock()
	if was == nil || was.UID != c.UID || was.Generation != c.Generation || len(was.Finalizers) != len(c.Finalizers) ||
		c.DeletionTimestamp != nil {
		m.change(c.seat())
	}
	if was != nil && was.seat() != c.seat() { // deleted and created again, unseen
		m.change(was.seat())
	}
}

func (m *collectionMirror) remove(c *collection) {
	m.mu.Lock()
	m.setLocked(c.key(), nil)
	m.mu.Unlock()
	m.change(c.seat())
}

func (m *collectionMirror) replace(kind *collectionKind, now []*collection) {
	changed := map[seat]bool{}
	m.mu.Lock()
	for k, c := range m.all {
		if k.kind == kind {
			changed[c.seat()] = true
			m.setLocked(k, nil)
		}
	}
	for _, c := range now {
		changed[c.seat()] = true
		m.setLocked(c.key(), c)
	}
	m.mu.Unlock()
	for s := range changed {
		m.change(s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.missed, kind)
	if len(m.missed) == 0 {
		m.missed = nil
		closeOnce(m.listed)
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// mirrorOfKind is the mirror as one kind's reflector sees it.
type mirrorOfKind struct {
	*collectionMirror
	kind *collectionKind
}

var _ cache.ReflectorStore = mirrorOfKind{}

// Add implements cache.ReflectorStore.
func (m mirrorOfKind) Add(o any) error { m.put(m.kind.of(o)); return nil }

// Update implements cache.ReflectorStore.
func (m mirrorOfKind) Update(o any) error { m.put(m.kind.of(o)); return nil }

// Delete implements cache.ReflectorStore.
func (m mirrorOfKind) Delete(o any) error { m.remove(m.kind.of(o)); return nil }

// Replace implements cache.ReflectorStore.
func (m mirrorOfKind) Replace(objs []any, _ string) error {
	now := make([]*collection, 0, len(objs))
	for _, o := range objs {
		now = append(now, m.kind.of(o))
	}
	m.replace(m.kind, now)
	return nil
}

// Resync implements cache.ReflectorStore.
func (m mirrorOfKind) Resync() error { return nil }
