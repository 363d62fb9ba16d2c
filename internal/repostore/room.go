package repostore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

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
// each collection; of more the number is.
const beyondBound = 10000

// beyond are the records of a collection that have no object for want of room.
type beyond struct {
	keys map[atproto.Key]bool
	more int // beside them
	// touched, where not nil, are the records that were added (true) or removed
	// while a comparison is under way: it has read them before.
	touched map[atproto.Key]bool
}

func (b *beyond) add(key atproto.Key) {
	if b.touched != nil {
		b.touched[key] = true
	}
	switch {
	case b.keys[key]:
	case len(b.keys) >= beyondBound:
		b.more++
	case b.keys == nil:
		b.keys = map[atproto.Key]bool{key: true}
	default:
		b.keys[key] = true
	}
}

func (b *beyond) remove(key atproto.Key) {
	if b.touched != nil {
		b.touched[key] = false
	}
	delete(b.keys, key)
}

// replace takes what a comparison has found, sorted, but for what is known better
// since it began.
func (b *beyond) replace(found []atproto.Key) {
	touched := b.touched
	*b = beyond{}
	for _, key := range found {
		if there, known := touched[key]; !known || there {
			b.add(key)
		}
	}
	for key, there := range touched {
		if there {
			b.add(key)
		}
	}
}

// next are the first n of them.
func (b *beyond) next(n int) []atproto.Key {
	keys := make([]atproto.Key, 0, len(b.keys))
	for key := range b.keys {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, byRKey)
	return keys[:min(n, len(keys))]
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

// wanting remembers a record that has no object for want of room.
func (m *mount) wanting(key atproto.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.collected[key.Collection]; c != nil {
		c.beyond.add(key)
	}
}

// wantingByKind are the kinds of which records want room, with how many there may
// be.
func (m *mount) wantingByKind() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for nsid, c := range m.collected {
		if len(c.beyond.keys)+c.beyond.more > 0 {
			out[nsid] = c.MaxItems
		}
	}
	return out
}

// roomFor takes as many of the records that want room as there is room for. It
// asks etcd alone, and only where some want.
func (m *mount) roomFor(ctx context.Context) ([]atproto.Key, error) {
	var out []atproto.Key
	for nsid, most := range m.wantingByKind() {
		s := m.hub.storeFor(nsid)
		if s == nil {
			continue
		}
		n, _, err := s.counted(ctx, m)
		if err != nil {
			return nil, err
		}
		if n < most {
			out = append(out, m.take(nsid, most-n)...)
		}
	}
	return out, nil
}

// take takes the first n records that want room. Where it knows none by name
// though there are some, the repository is compared.
func (m *mount) take(nsid string, n int) []atproto.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.collected[nsid]
	if c == nil {
		return nil
	}
	keys := c.beyond.next(n)
	for _, key := range keys {
		c.beyond.remove(key)
	}
	if len(keys) == 0 && c.beyond.more > 0 {
		m.progress.lost("a collection has room again")
	}
	return keys
}

// beginComparison tells the collections that a comparison begins.
func (m *mount) beginComparison() map[string]*collected {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]*collected{}
	for nsid, c := range m.collected {
		c.beyond.touched = map[atproto.Key]bool{}
		out[nsid] = c
	}
	return out
}

// endComparison tells them that it has ended, and whether it is complete.
func (m *mount) endComparison(begun map[string]*collected, complete bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range begun {
		c.beyond.touched = nil
		c.compared = c.compared || complete
	}
}

// fill takes, of the records that nobody has bound, sorted, those for which a
// collection has room; the others want some.
func (m *mount) fill(ctx context.Context, nsid string, c *collected, unbound []atproto.Key) ([]atproto.Key, error) {
	room := 0
	if len(unbound) > 0 {
		n, _, err := m.hub.storeFor(nsid).counted(ctx, m)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		room = max(0, c.MaxItems-n)
		m.mu.Unlock()
	}
	n := min(room, len(unbound))
	m.mu.Lock()
	defer m.mu.Unlock()
	c.beyond.replace(unbound[n:])
	return unbound[:n], nil
}
