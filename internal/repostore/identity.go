package repostore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// identity says which object a record is. It lies beside the views and outlives
// their loss: rebuilt views get their old names and uids from here.
type identity struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Owner is the uid of the object's controller: a collection's child is its child
	// again after a loss of the views.
	Owner types.UID `json:"owner,omitempty"`
	// Seen is when the record was first served: what follows from that time once does
	// not follow anew from the time of a rebuild.
	Seen time.Time `json:"seen,omitzero"`
}

// firstSeen is when a record was first seen that is seen now. Zero: it was before
// identities told.
func (id *identity) firstSeen(now time.Time) time.Time {
	if id == nil {
		return now
	}
	return id.Seen
}

func decodeIdentity(value []byte) (*identity, error) {
	id := &identity{}
	if err := json.Unmarshal(value, id); err != nil {
		return nil, fmt.Errorf("decode identity: %w", err)
	}
	return id, nil
}

// identityOps keeps the identity in step with the view's stamp, in the very
// transaction that writes the view.
// was, where not nil, is what it is already: the views were lost.
func (s *Store) identityOps(ref objectRef, before, after stamp, obj runtime.Object, was *identity) []clientv3.Op {
	if before.URI == after.URI {
		return nil
	}
	var ops []clientv3.Op
	if uri, ok := parseURI(before.URI); ok {
		ops = append(ops, clientv3.OpDelete(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)))
	}
	if uri, ok := parseURI(after.URI); ok {
		ops = append(ops, s.identifyOp(ref, uri, obj, was),
			s.attachOp(ref.workspace, uri)) // a record that is bound is not detached, whoever finishes the binding
	}
	return ops
}

// identifyOp writes which object a record is.
func (s *Store) identifyOp(ref objectRef, uri recordURI, obj runtime.Object, was *identity) clientv3.Op {
	id := identity{Name: ref.name, Owner: controllerUID(obj), Seen: s.hub.clock.Now().UTC().Truncate(time.Second)}
	if was != nil {
		id.Seen = was.Seen
		if id.Owner == "" {
			id.Owner = was.Owner
		}
	}
	if m, err := meta.Accessor(obj); err == nil {
		id.UID = m.GetUID()
	}
	value, err := json.Marshal(id)
	if err != nil {
		panic(err) // two strings always encode
	}
	return clientv3.OpPut(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey), string(value))
}

// isDetached tells whether the record was unbound or retained: it neither
// reappears nor runs until it is deleted or bound again.
func (s *Store) isDetached(ctx context.Context, ws string, uri recordURI) (bool, error) {
	resp, err := s.hub.etcd.Get(ctx, s.keys.detached(s.resource.Resource, ws, uri.did, uri.RKey), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("read detached list: %w", err)
	}
	return resp.Count > 0, nil
}

// detachedOf adds the detached records of a repository.
func (s *Store) detachedOf(ctx context.Context, m *mount, into map[atproto.Key]bool) error {
	prefix := s.keys.detached(s.resource.Resource, m.Workspace, m.Repo.DID(), "")
	return s.hub.eachKey(ctx, prefix, func(key string, _ []byte, _ int64) error {
		into[atproto.Key{Collection: s.mapper.Collection(), RKey: strings.TrimPrefix(key, prefix)}] = true
		return nil
	})
}

func (s *Store) detachOp(ws string, uri recordURI) clientv3.Op {
	return clientv3.OpPut(s.keys.detached(s.resource.Resource, ws, uri.did, uri.RKey), s.hub.clock.Now().UTC().Format("2006-01-02T15:04:05Z"))
}

func (s *Store) attachOp(ws string, uri recordURI) clientv3.Op {
	return clientv3.OpDelete(s.keys.detached(s.resource.Resource, ws, uri.did, uri.RKey))
}

func sameUID(a, b runtime.Object) bool {
	x, errX := meta.Accessor(a)
	y, errY := meta.Accessor(b)
	return errX == nil && errY == nil && x.GetUID() == y.GetUID()
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
