package repostore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
)

// valuePrefix begins every stored object, behind the stamp.
const valuePrefix = "test!"

var errSynthetic = errors.New("synthetic error")

// switchTransformer is a transformer that the suite can exchange while it runs.
type switchTransformer struct {
	fail *atomic.Bool // reads fail while it is set

	mu    sync.RWMutex // held for reading while inner counts a read: updatePrefix copies the count
	inner value.Transformer
}

func newSwitchTransformer(fail *atomic.Bool) *switchTransformer {
	return &switchTransformer{fail: fail, inner: storagetesting.NewPrefixTransformer([]byte(valuePrefix), false)}
}

func (s *switchTransformer) get() value.Transformer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.inner
}

// swap puts another transformer in, and answers how to undo it.
func (s *switchTransformer) swap(to value.Transformer) (undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.inner
	s.inner = to
	return func() { s.swap(from) }
}

func (s *switchTransformer) updatePrefix(f storagetesting.PrefixTransformerModifier) (undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.inner
	modified := *from.(*storagetesting.PrefixTransformer)
	s.inner = f(&modified)
	return func() { s.swap(from) }
}

// reads since the last call.
func (s *switchTransformer) reads() uint64 {
	return s.get().(*storagetesting.PrefixTransformer).GetReadsAndReset()
}

func (s *switchTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	if s.fail.Load() {
		return nil, false, errSynthetic
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.inner.TransformFromStorage(ctx, data, dataCtx)
}

func (s *switchTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	return s.get().TransformToStorage(ctx, data, dataCtx)
}

// failingCodec decodes nothing while fail is set.
type failingCodec struct {
	runtime.Codec
	fail atomic.Bool
}

func (c *failingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.fail.Load() {
		return nil, nil, errSynthetic
	}
	return c.Codec.Decode(data, defaults, into)
}
