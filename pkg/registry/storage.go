package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// REST serves the main resource of a kind: the stock store under our strategy.
type REST struct {
	*genericregistry.Store
	kind Kind
}

var (
	_ rest.StandardStorage    = (*REST)(nil)
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// NewREST makes the main resource and the status subresource of a kind, which
// share one storage.
func NewREST(kind Kind, typer runtime.ObjectTyper, options generic.RESTOptionsGetter) (*REST, *StatusREST, error) {
	s := strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
	store := &genericregistry.Store{
		NewFunc:                   kind.New,
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  kind.Resource,
		SingularQualifiedResource: kind.Singular,
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            kind.Columns,
	}
	useWorkspaceKeys(store)
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options}); err != nil {
		return nil, nil, err
	}
	return &REST{store, kind}, newStatusREST(store, s), nil
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return r.kind.Categories }
