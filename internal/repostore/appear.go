package repostore

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// appeared: a record that no object shows. It gets one if an object was it before,
// if the repository is the workspace's default, or by a collection that has room.
func (s *Store) appeared(ctx context.Context, m *mount, ref objectRef, uri recordURI, sn snapshot, rec *atproto.Record, rev string, g guard) error {
	collection := m.collection(uri.Collection)
	if sn.identity == nil && collection == nil && !m.Default {
		m.undefer(uri.Key, uri.String())
		return nil // another repository's records appear by a binding alone
	}
	detached, err := s.isDetached(ctx, ref.workspace, uri)
	if err != nil {
		return err
	}
	if detached {
		m.undefer(uri.Key, uri.String())
		return nil
	}
	if sn.identity == nil {
		g.binds = m
	} else { // else its view was deleted, alone: see viewalone.go
		g.makes = append(g.makes, present(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)))
	}
	if found, err := s.applyDropped(ctx, ref, sn, rec.CID, rev, g); found || err != nil {
		return unlessClosing(err)
	}
	if collection.adopts(sn.identity) {
		g.child = &child{of: collection, in: m}
	}
	if sn.identity == nil && !m.Default {
		done, err := s.admit(ctx, m, g.child)
		if errors.Is(err, errFull) {
			return s.full(ctx, m, uri, g, 0)
		}
		if err != nil {
			return err
		}
		defer done()
	}
	obj, st, err := s.fresh(m, ref, uri, sn.identity, g.child, rec, rev)
	if err != nil {
		return err
	}
	if sn.identity == nil {
		done, size, err := s.takeRoom(ctx, ref, obj)
		if errors.Is(err, errFull) {
			return s.full(ctx, m, uri, g, size)
		}
		if err != nil {
			return err
		}
		g.made = new(int64)
		defer func() { done(*g.made) }()
	}
	s.hub.step("appear.before-write")
	if err := s.putView(ctx, ref, view{}, obj, st, g, nil); err != nil {
		if errors.Is(err, errMoved) && g.child != nil {
			if _, cerr := s.hub.closedCollection(ctx, m, uri.Collection, collection); cerr != nil {
				return cerr
			}
		}
		return unlessClosing(err)
	}
	m.undefer(uri.Key, uri.String())
	return nil
}

// full: the record has no object, of size bytes, for want of room. What was read may
// have been deleted since: it would want room for ever.
func (s *Store) full(ctx context.Context, m *mount, uri recordURI, g guard, size int) error {
	if resp, err := s.txn(ctx, "full", g.makes, nil); err != nil {
		return err
	} else if !resp.Succeeded {
		return errMoved
	}
	m.undefer(uri.Key, uri.String())
	m.wanting(uri.Key, size)
	return nil
}

// fresh makes the object of a record that is seen for the first time, or again
// since the views were lost. c, where not nil, is the collection whose child it is.
func (s *Store) fresh(m *mount, ref objectRef, uri recordURI, id *identity, c *child, rec *atproto.Record, rev string) (runtime.Object, stamp, error) {
	now := s.hub.clock.Now()
	obj := s.mapper.New()
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, stamp{}, err
	}
	accessor.SetName(ref.name)
	accessor.SetUID(uuid.NewUUID())
	if id != nil && id.UID != "" {
		accessor.SetUID(id.UID)
	}
	seen := now
	if first := id.firstSeen(now); !first.IsZero() {
		seen = first
	}
	accessor.SetCreationTimestamp(createdAt(rec.Value, seen))
	if s.annotated {
		s.annotate(accessor, ref.workspace)
	}
	s.bumpGeneration(accessor)
	b := Binding{RepoName: s.hub.repoName(ref.workspace, uri.did)}
	if c != nil {
		c.of.adopt(accessor)
		b.RepoName = m.Name // its own, where there are two of the account
	}
	if ref.name != uri.RKey {
		b.URI = uri.String()
	}
	s.mapper.SetBinding(obj, b)
	st := stamp{URI: uri.String()}
	if err := s.pull(obj, &st, rec, rev); err != nil {
		return nil, stamp{}, err
	}
	if st.Invalid == "" {
		sight := s.sight(rec.Value, id)
		sight.Ours = sight.Ours && m.published()
		s.mapper.FirstSight(obj, sight)
	}
	return obj, st, nil
}

// sight is what a mapper is told of an object that is seen for the first time; id,
// where not nil, is what its record was before the views were lost.
func (s *Store) sight(record map[string]any, id *identity) Sight {
	now := s.hub.clock.Now()
	return Sight{Record: record, Ours: id != nil, Now: now, First: id.firstSeen(now)}
}

// published tells whether the statuses in the repository's records are what we had
// published: where we don't write, they are whatever its account says. One that isn't
// probed yet counts as it is asked for.
func (m *mount) published() bool { return m.Access == AccessReadWrite || m.Withheld }
