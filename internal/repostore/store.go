package repostore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/utils/lru"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// Store is the storage of one record-backed kind. Watches, lists at a revision,
// statistics and whatever else needs no repository is the embedded stock store's.
type Store struct {
	storage.Interface // the stock etcd3 store over the same views

	hub            *Hub
	mapper         RecordMapper
	resource       schema.GroupResource
	resourcePrefix string
	keys           keyspace
	codec          runtime.Codec
	versioner      storage.APIObjectVersioner
	transformer    value.Transformer
	decoder        etcd3.Decoder
	annotated      bool // objects name their workspace

	records *lru.Cache // object key → recordURI that it had when it was last read; see ask.go
}

var _ storage.Interface = (*Store)(nil)

// storeConfig is what newStore needs beside the hub.
type storeConfig struct {
	raw            storage.Interface
	mapper         RecordMapper
	resource       schema.GroupResource
	resourcePrefix string
	codec          runtime.Codec
	transformer    value.Transformer
	annotated      bool
}

func newStore(h *Hub, c storeConfig) *Store {
	s := &Store{
		Interface: c.raw, hub: h, mapper: c.mapper, resource: c.resource, resourcePrefix: c.resourcePrefix,
		keys: h.keys, codec: c.codec, transformer: c.transformer, annotated: c.annotated,
		decoder: etcd3.NewDefaultDecoder(c.codec, storage.APIObjectVersioner{}), records: lru.New(recordsKnown),
	}
	if unsafeDeletion() {
		s.transformer = etcd3.WithCorruptObjErrorHandlingTransformer(s.transformer)
		s.decoder = etcd3.WithCorruptObjErrorHandlingDecoder(s.decoder)
	}
	h.addStore(s)
	metrics.Kind(s.resource.Resource, s.mapper.Collection())
	return s
}

// unsafeDeletion tells whether corrupt objects are told from other failures and
// may be deleted, as in the stock store: KEP-3926.
func unsafeDeletion() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
}

// forREST is the store as the REST layer has to see it: reads of corrupt objects
// fail with an error that leads to their unsafe deletion.
func (s *Store) forREST() storage.Interface {
	if unsafeDeletion() {
		return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(s, s.resource)
	}
	return s
}

// ref checks a key as the stock store does and reads it.
func (s *Store) ref(key string) (objectRef, error) {
	prepared, err := storage.PrepareKey(s.resourcePrefix, key, false)
	if err != nil {
		return objectRef{}, err
	}
	return parseRef(s.resourcePrefix, prepared), nil
}

// fail is the boundary: every error that leaves this storage passes here once.
func (s *Store) fail(err error, ref objectRef) error {
	if own, ok := err.(*callerError); ok { //nolint:errorlint // wrapped, it is not the whole story
		return own.err
	}
	return ToAPIError(err, s.resource, ref.name)
}

// callerError is what a caller's own function returned, a validation or an
// update. It leaves as it came: the registry compares such errors by identity.
type callerError struct{ err error }

func (e *callerError) Error() string { return e.err.Error() }
func (e *callerError) Unwrap() error { return e.err }

// attempts bounds how often a write starts again after it lost a race.
const attempts = 40

// pause waits a little, growing and jittered, before try i+1.
func (s *Store) pause(ctx context.Context, i int) error {
	if s.hub.step("pause") {
		return ctx.Err()
	}
	d := time.Duration(1+rand.IntN(2+2*i)) * time.Millisecond
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.hub.clock.After(d):
		return nil
	}
}

// contended ends a write that lost too often: never in success.
func (s *Store) contended(ref objectRef) error {
	return fmt.Errorf("%s %q: %w, try again", s.resource.Resource, ref.name, ErrContended)
}
