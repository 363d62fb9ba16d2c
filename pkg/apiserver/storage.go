package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// Storage is what keeps the objects.
type Storage interface {
	// Decorator makes the storage of a resource of ours.
	Decorator(resource schema.GroupResource) generic.StorageDecorator
	// Run works until ctx ends.
	Run(ctx context.Context) error
	// Healthz fails while the storage's own work has come to a halt.
	Healthz() error
	// Ready fails until the storage can answer for what it holds.
	Ready() error
}

// optionsGetter makes the storage of every resource a Storage's.
type optionsGetter struct {
	generic.RESTOptionsGetter
	storage Storage
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g optionsGetter) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return o, err
	}
	// The group is in the server's etcd prefix already.
	o.ResourcePrefix = resource.Resource
	o.Decorator = g.storage.Decorator(resource)
	return o, nil
}

// etcdStorage keeps every object in etcd and nowhere else.
type etcdStorage struct{}

var _ Storage = etcdStorage{}

func (etcdStorage) Run(context.Context) error { return nil }
func (etcdStorage) Healthz() error            { return nil }
func (etcdStorage) Ready() error              { return nil }

func (etcdStorage) Decorator(schema.GroupResource) generic.StorageDecorator {
	stock := genericregistry.StorageWithCacher()
	return func(
		config *storagebackend.ConfigForResource,
		resourcePrefix string,
		_ func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object,
		attrs storage.AttrFunc,
		trigger storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		// The cache sees objects without a request, so its key takes the workspace
		// from the object.
		key := func(obj runtime.Object) (string, error) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return "", err
			}
			ws := m.GetAnnotations()[repostore.ClusterAnnotation]
			if ws == "" {
				return "", fmt.Errorf("object %s names no workspace", m.GetName())
			}
			return resourcePrefix + "/" + ws + "/" + m.GetName(), nil
		}
		return stock(config, resourcePrefix, key, newFunc, newListFunc, attrs, trigger, indexers)
	}
}
