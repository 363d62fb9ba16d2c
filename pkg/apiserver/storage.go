package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/atprotorepo"
)

// Storage is what keeps the objects.
type Storage interface {
	atprotorepo.Locker
	// Decorator makes the storage of a resource of ours.
	Decorator(resource schema.GroupResource) generic.StorageDecorator
	// Run works until ctx ends. loopback reaches the server itself.
	Run(ctx context.Context, loopback *restclient.Config) error
	// Healthz fails while the storage's own work has come to a halt.
	Healthz() error
	// Ready fails until the storage can answer for what it holds.
	Ready() error
	// Close releases what the storage holds, after Run has returned and the
	// resources were destroyed.
	Close() error
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
	o.Decorator = byWorkspace(g.storage.Decorator(resource))
	return o, nil
}

// byWorkspace gives a storage's cache keys with the workspace. The cache sees
// objects without a request, so it takes the workspace from the object.
func byWorkspace(inner generic.StorageDecorator) generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource,
		resourcePrefix string,
		_ func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object,
		attrs storage.AttrFunc,
		trigger storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
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
		return inner(config, resourcePrefix, key, newFunc, newListFunc, attrs, trigger, indexers)
	}
}
