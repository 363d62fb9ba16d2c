package repostore

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value"
	plaintext "k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"
)

// noResource stands in errors of reads that no single object caused.
var noResource = schema.GroupResource{}

// Decorator wires the storage of a record-backed kind:
//
//	genericregistry.Store → resuming → CacheDelegator ─┬→ Cacher → stock store with the barrier as its "current revision"
//	                                                   └→ Store → stock store
//
// The Cacher over the bare stock store would answer consistent lists silently
// stale; over Store it would never become ready while a PDS is down.
func (h *Hub) Decorator(m RecordMapper) generic.StorageDecorator {
	return h.decorate(func(c storeConfig) storage.Interface {
		c.mapper, c.annotated = m, true
		return newStore(h, c).forREST()
	}, func(t value.Transformer) value.Transformer { return stampStripper{t} }, "/views")
}

// PlainDecorator wires a kind that etcd alone stores, beside the views.
func (h *Hub) PlainDecorator() generic.StorageDecorator {
	return h.decorate(func(c storeConfig) storage.Interface { return c.raw }, func(t value.Transformer) value.Transformer { return t }, "")
}

func (h *Hub) decorate(wrap func(storeConfig) storage.Interface, seal func(value.Transformer) value.Transformer, under string) generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource, resourcePrefix string,
		_ func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
		attrs storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		c := *config
		c.Prefix = h.keys.prefix + under
		inner := c.Transformer
		if inner == nil {
			inner = plaintext.NewEncryptCheckTransformer()
		}
		c.Transformer = seal(inner)
		raw, destroyRaw, err := generic.NewRawStorage(&c, newFunc, newListFunc, resourcePrefix)
		if err != nil {
			return nil, nil, err
		}
		store := wrap(storeConfig{raw: raw, resource: c.GroupResource, resourcePrefix: resourcePrefix, codec: c.Codec, transformer: inner})
		var under storage.Interface = paged{raw}
		if store != raw {
			under = paged{cacheStorage{raw, h}}
		}
		delegator, stop, err := behindCache(store, cacher.Config{
			Storage: under, Versioner: storage.APIObjectVersioner{}, GroupResource: c.GroupResource,
			EventsHistoryWindow: c.EventsHistoryWindow, ResourcePrefix: resourcePrefix, KeyFunc: workspaceKeyFunc(resourcePrefix),
			NewFunc: newFunc, NewListFunc: newListFunc, GetAttrsFunc: attrs, IndexerFuncs: triggers, Indexers: indexers, Codec: c.Codec,
		})
		if err != nil {
			destroyRaw()
			return nil, nil, err
		}
		var once sync.Once
		resume := &resuming{Interface: delegator, history: newHistory(h.etcd, c.Prefix+strings.TrimSuffix(resourcePrefix, "/")+"/")}
		return resume, func() {
			once.Do(func() {
				stop()
				destroyRaw()
			})
		}, nil
	}
}

// paged is a storage that a Cacher reads in pages at its start. A stream it would
// collect by namespace and name: of all objects of one name, in whatever workspaces,
// one would be left.
type paged struct{ storage.Interface }

// IsWatchListSemanticsUnSupported is asked by package watchlist of client-go.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }

// behindCache puts a Cacher, made from c, and its delegator in front of store.
func behindCache(store storage.Interface, c cacher.Config) (d *cacher.CacheDelegator, stop func(), err error) {
	watched, err := cacher.NewCacherFromConfig(c)
	if err != nil {
		return nil, nil, err
	}
	d = cacher.NewCacheDelegator(watched, store)
	return d, func() {
		d.Stop()
		watched.Stop()
	}, nil
}

// workspaceKeyFunc makes the storage key of an object. The cache sees objects
// without a request, so it takes the workspace from the annotation.
func workspaceKeyFunc(resourcePrefix string) func(runtime.Object) (string, error) {
	return func(obj runtime.Object) (string, error) {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return "", err
		}
		ws := accessor.GetAnnotations()[ClusterAnnotation]
		if ws == "" {
			return "", fmt.Errorf("%q lacks the annotation %s", accessor.GetName(), ClusterAnnotation)
		}
		return makeRef(resourcePrefix, ws, accessor.GetName()).key, nil
	}
}
