package repostore

import (
	"context"
	"fmt"
	"reflect"

	"github.com/bluesky-social/indigo/atproto/atdata"
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

// handOut gives the object of a view that was read for out alone: it was decoded
// once already.
func (s *Store) handOut(v view, out runtime.Object) error {
	from, to := reflect.ValueOf(v.obj), reflect.ValueOf(out)
	if from.Type() != to.Type() {
		return s.decodeInto(v.data, v.revision, out)
	}
	to.Elem().Set(from.Elem())
	return nil
}

// decodeView reads a stored value.
func (s *Store) decodeView(ctx context.Context, ref objectRef, value []byte, revision int64) (view, error) {
	st, object, err := openStamp(value)
	if err != nil {
		return view{}, storage.NewInternalError(s.corrupt(ctx, err))
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
