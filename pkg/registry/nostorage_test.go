package registry_test

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// none is a storage that says it is ready and is never called otherwise.
type none struct{ storage.Interface }

func (none) ReadinessCheck() error { return nil }

func noStorage(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
	storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	return none{}, func() {}, nil
}

func equalObjects(a, b runtime.Object) bool { return apiequality.Semantic.DeepEqual(a, b) }
