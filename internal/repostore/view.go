package repostore

import (
	"context"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/atdata"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// view is an object as etcd holds it. The zero view is an absent one.
type view struct {
	obj      runtime.Object
	data     []byte // obj as encoded
	stamp    stamp
	revision int64 // mod revision, 0: absent
	stale    bool  // the transformer asks for a rewrite
}

func (v view) there() bool { return v.revision != 0 }

// remainder of the record in the data model.
func (v view) remainder() (map[string]any, error) {
	if len(v.stamp.Remainder) == 0 {
		return nil, nil
	}
	m, err := atdata.UnmarshalJSON(v.stamp.Remainder)
	if err != nil {
		return nil, fmt.Errorf("decode remainder: %w", err)
	}
	return m, nil
}

// authenticatedKey is the etcd key as the stock store hands it to transformers.
type authenticatedKey string

// AuthenticatedData implements value.Context.
func (k authenticatedKey) AuthenticatedData() []byte { return []byte(k) }

func (s *Store) encode(obj runtime.Object) ([]byte, error) {
	c := obj.DeepCopyObject()
	if err := s.versioner.PrepareObjectForStorage(c); err != nil {
		return nil, fmt.Errorf("prepare object for storage: %w", err)
	}
	data, err := runtime.Encode(s.codec, c)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return data, nil
}

func (s *Store) seal(ctx context.Context, ref objectRef, data []byte, st stamp) (string, error) {
	object, err := s.transformer.TransformToStorage(ctx, data, authenticatedKey(s.keys.view(ref)))
	if err != nil {
		return "", storage.NewInternalError(err)
	}
	value, err := sealStamp(st, object)
	return string(value), err
}

func (s *Store) decodeInto(data []byte, revision int64, out runtime.Object) error {
	return s.decoder.Decode(data, out, revision)
}

// decodeView reads a stored value.
func (s *Store) decodeView(ctx context.Context, ref objectRef, value []byte, revision int64) (view, error) {
	st, object, err := openStamp(value)
	if err != nil {
		return view{}, storage.NewInternalError(err)
	}
	data, stale, err := s.transformer.TransformFromStorage(ctx, object, authenticatedKey(s.keys.view(ref)))
	if err != nil {
		return view{}, storage.NewInternalError(err)
	}
	obj := s.mapper.New()
	if err := s.decodeInto(data, revision, obj); err != nil {
		return view{}, storage.NewInternalError(err)
	}
	return view{obj: obj, data: data, stamp: st, revision: revision, stale: stale}, nil
}

// snapshot is what one etcd transaction says of an object: its view, its open
// intent and, where asked for, the fence of its repository. It is always read
// before the record (I4, I5).
type snapshot struct {
	view
	intent *intent
	fence  int64
	head   int64 // etcd's revision
}

// look reads the snapshot of ref; did "" leaves the fence out.
func (s *Store) look(ctx context.Context, ref objectRef, did string) (snapshot, error) {
	ops := []clientv3.Op{clientv3.OpGet(s.keys.view(ref)), clientv3.OpGet(s.keys.intent(ref))}
	if did != "" {
		ops = append(ops, clientv3.OpGet(s.keys.fence(ref.workspace, did)))
	}
	resp, err := s.txn(ctx, "look", nil, ops)
	if err != nil {
		return snapshot{}, err
	}
	out := snapshot{head: resp.Header.Revision}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) == 1 {
		if out.view, err = s.decodeView(ctx, ref, kvs[0].Value, kvs[0].ModRevision); err != nil {
			return snapshot{}, err
		}
	}
	if kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) == 1 {
		if out.intent, err = decodeIntent(kvs[0].Value, kvs[0].ModRevision); err != nil {
			return snapshot{}, err
		}
	}
	if did != "" {
		if kvs := resp.Responses[2].GetResponseRange().Kvs; len(kvs) == 1 {
			out.fence = kvs[0].ModRevision
		}
	}
	return out, nil
}
