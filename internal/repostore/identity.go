package repostore

import (
	"context"
	"encoding/json"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// identity says which object a record is. It lies beside the views and outlives
// their loss: rebuilt views get their old names and uids from here.
type identity struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
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
func (s *Store) identityOps(ref objectRef, before, after stamp, obj runtime.Object) []clientv3.Op {
	if before.URI == after.URI {
		return nil
	}
	var ops []clientv3.Op
	if uri, ok := parseURI(before.URI); ok {
		ops = append(ops, clientv3.OpDelete(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)))
	}
	if uri, ok := parseURI(after.URI); ok {
		id := identity{Name: ref.name}
		if m, err := meta.Accessor(obj); err == nil {
			id.UID = m.GetUID()
		}
		value, err := json.Marshal(id)
		if err != nil {
			panic(err) // two strings always encode
		}
		ops = append(ops, clientv3.OpPut(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey), string(value)),
			s.attachOp(ref.workspace, uri)) // a record that is bound is not detached, whoever finishes the binding
	}
	return ops
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
