package repostore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Two things bound how many records become objects by themselves: a collection, and
// the workspace (workspaceroom.go). Those without room are remembered here.
//
// A collection bounds how many records of somebody else's account come into a
// workspace. What counts is how many records of the kind have an identity, whoever
// bound them.
//
// The bound is exact, over all replicas: the transaction that makes a child near
// the bound compares that no record has got an object since the count. Further
// away than roomMargin the count alone decides; it could be overshot only if more
// than roomMargin children were on their way to etcd at once.

// roomMargin is how near to the bound each child's transaction compares the count.
// Far from it this would let many children appear only one at a time.
const roomMargin = 128

// beyondBound is how many of the records without room are remembered by name, for
// each kind of a repository; of more the number is.
const beyondBound = 10000

// beyond are the records of a kind that have no object for want of room. A nil one is
// empty.
type beyond struct {
	keys map[atproto.Key]int // how many bytes the object of each takes; 0: unknown
	more int                 // beside them
	// touched, where not nil, are the records that were added (true) or removed
	// while a comparison is under way: it has read them before.
	touched map[atproto.Key]bool
}

func (b *beyond) add(key atproto.Key, size int) {
	if b.touched != nil {
		b.touched[key] = true
	}
	_, there := b.keys[key]
	switch {
	case there:
		b.keys[key] = size
	case len(b.keys) >= beyondBound:
		b.more++
	case b.keys == nil:
		b.keys = map[atproto.Key]int{key: size}
	default:
		b.keys[key] = size
	}
}

func (b *beyond) remove(key atproto.Key) {
	if b == nil {
		return
	}
	if b.touched != nil {
		b.touched[key] = false
	}
	delete(b.keys, key)
}

// replace takes what a comparison has found, sorted, but for what is known better
// since it began.
func (b *beyond) replace(found []atproto.Key) {
	touched, known := b.touched, b.keys
	*b = beyond{}
	for _, key := range found {
		if there, told := touched[key]; !told || there {
			b.add(key, 0)
		}
	}
	for key, there := range touched {
		if there {
			b.add(key, known[key])
		}
	}
}

// next are the first n of them.
func (b *beyond) next(n int) []atproto.Key {
	if b == nil {
		return nil
	}
	keys := make([]atproto.Key, 0, len(b.keys))
	for key := range b.keys {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, byRKey)
	return keys[:min(n, len(keys))]
}

// fitting are the first n of them for whose objects, as far as their sizes are known,
// there is room in free, which is taken. One that is too large keeps none waiting.
func (b *beyond) fitting(n int, free *space) (out []atproto.Key) {
	for _, key := range b.next(len(b.keys)) {
		if len(out) == n {
			break
		}
		if free.take(b.keys[key]) {
			out = append(out, key)
		}
	}
	return out
}

// len is how many there are.
func (b *beyond) len() int {
	if b == nil {
		return 0
	}
	return len(b.keys) + b.more
}

func byRKey(a, b atproto.Key) int { return strings.Compare(a.RKey, b.RKey) }

// counted is how many records of a repository have an object of the kind, and
// etcd's revision then.
func (s *Store) counted(ctx context.Context, m *mount) (n int, at int64, err error) {
	resp, err := s.hub.etcd.Get(ctx, s.keys.uids(s.resource.Resource, m.Workspace, m.Repo.DID()), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, 0, fmt.Errorf("count the objects of %s: %w", m.Repo.DID(), err)
	}
	return int(resp.Count), resp.Header.Revision, nil
}

// admit lets a record appear by c, if there is room, else fails with errFull. Near
// the bound one at a time is admitted here: done ends its turn.
func (s *Store) admit(ctx context.Context, m *mount, c *child) (done func(), err error) {
	n, _, err := s.counted(ctx, m)
	if err != nil {
		return nil, err
	}
	if n+roomMargin < c.of.MaxItems {
		return func() {}, nil
	}
	if err := m.admitting.take(ctx); err != nil {
		return nil, err
	}
	n, at, err := s.counted(ctx, m)
	if err == nil && n >= c.of.MaxItems {
		err = errFull
	}
	if err != nil {
		m.admitting.give()
		return nil, err
	}
	c.room = at
	return m.admitting.give, nil
}

// beyondLocked is where the records of a kind without room are remembered.
func (m *mount) beyondLocked(nsid string) *beyond {
	b := m.beyond[nsid]
	if b == nil {
		b = &beyond{}
		m.beyond[nsid] = b
	}
	return b
}

// wanting remembers a record that has no object, of size bytes, for want of room; 0: it
// isn't known.
func (m *mount) wanting(key atproto.Key, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Default || m.collected[key.Collection] != nil { // else nothing makes it appear any more
		m.beyondLocked(key.Collection).add(key, size)
	}
}

// unbounded is the bound of a kind that no collection bounds.
const unbounded = -1

// boundLocked is how many records of a kind a collection lets have an object.
func (m *mount) boundLocked(nsid string) int {
	if c := m.collected[nsid]; c != nil && !m.Default {
		return c.MaxItems
	}
	return unbounded
}

// wantingByKind are the kinds of which records want room, with how many a collection
// lets there be.
func (m *mount) wantingByKind() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for nsid, b := range m.beyond {
		if b.len() > 0 {
			out[nsid] = m.boundLocked(nsid)
		}
	}
	return out
}

// roomFor takes as many of the records that want room as there is room for. It
// asks etcd alone, and only where some want.
func (m *mount) roomFor(ctx context.Context) ([]atproto.Key, error) {
	kinds := m.wantingByKind()
	if len(kinds) == 0 {
		return nil, nil
	}
	free, err := m.hub.free(ctx, m.Workspace)
	if err != nil {
		return nil, err
	}
	for nsid, most := range kinds { // before any is taken: what fails must not lose it
		if kinds[nsid], err = m.roomOf(ctx, nsid, most); err != nil {
			return nil, err
		}
	}
	var out []atproto.Key
	for nsid, room := range kinds {
		out = append(out, m.take(nsid, room, &free)...)
	}
	return out, nil
}

// roomOf is for how many more records of a kind a collection that bounds it has room.
func (m *mount) roomOf(ctx context.Context, nsid string, most int) (int, error) {
	s := m.hub.storeFor(nsid)
	switch {
	case s == nil:
		return 0, nil
	case most == unbounded:
		return math.MaxInt, nil
	}
	n, _, err := s.counted(ctx, m)
	return max(0, most-n), err
}

// tooFew tells whether a workspace has too little free for what wants room.
func (m *mount) tooFew(nsid string, free space) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.beyond[nsid]; b != nil {
		for _, size := range b.keys {
			if int64(size) > free.bytes {
				return true
			}
		}
	}
	return free.records() == 0
}

// take takes the first n records that want room and for which there is some in free.
// Where it knows none by name though there are some, the repository is compared.
func (m *mount) take(nsid string, n int, free *space) []atproto.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.beyond[nsid]
	if b.len() == 0 || n <= 0 || free.records() <= 0 {
		return nil
	}
	if len(b.keys) == 0 {
		m.progress.lost("there is room again")
	}
	keys := b.fitting(n, free)
	for _, key := range keys {
		b.remove(key)
	}
	return keys
}

// comparison is what wants room, and may learn so, while a repository is compared.
type comparison struct {
	collected map[string]*collected
	beyond    map[string]*beyond
}

// beginComparison tells the collections that a comparison begins.
func (m *mount) beginComparison(stores []*Store) comparison {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := comparison{map[string]*collected{}, map[string]*beyond{}}
	for _, s := range stores {
		nsid := s.mapper.Collection()
		c := m.collected[nsid]
		if c == nil && !m.Default {
			continue
		}
		b := m.beyondLocked(nsid)
		b.touched = map[atproto.Key]bool{}
		out.beyond[nsid] = b
		if c != nil {
			out.collected[nsid] = c
		}
	}
	return out
}

// endComparison tells them that it has ended, and whether it is complete.
func (m *mount) endComparison(begun comparison, complete bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range begun.beyond {
		b.touched = nil
	}
	for _, c := range begun.collected {
		c.compared = c.compared || complete
	}
}

// fill takes, of the records that nobody has bound, sorted, those for which c, which
// may be nil, and the workspace have room; the others want some.
func (m *mount) fill(ctx context.Context, nsid string, c *collected, b *beyond, unbound []atproto.Key, free int) ([]atproto.Key, error) {
	room := 0
	if len(unbound) > 0 {
		most := unbounded
		if c != nil && !m.Default {
			m.mu.Lock()
			most = c.MaxItems
			m.mu.Unlock()
		}
		var err error
		if room, err = m.roomOf(ctx, nsid, most); err != nil {
			return nil, err
		}
	}
	n := min(room, free, len(unbound))
	m.mu.Lock()
	defer m.mu.Unlock()
	b.replace(unbound[n:])
	return unbound[:n], nil
}
