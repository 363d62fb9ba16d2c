package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// statusStrategy is what happens to an object that was sent to /status.
type statusStrategy struct{ strategy }

// GetResetFields takes everything but the status out of what an apply to /status
// owns.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.kind.Version, "spec", "metadata")
}

// PrepareForUpdate takes the status from obj, but for the storage's own part of
// it, and everything else from old.
func (s statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	keepMeta(obj, old)
	s.kind.SetSpec(obj, old)
	if s.kind.KeepStatus != nil {
		s.kind.KeepStatus(obj, old)
	}
	if s.kind.CompleteStatus != nil {
		s.kind.CompleteStatus(obj, old)
	}
	keepManagedFields(obj, old)
}

// ValidateUpdate checks the status.
func (s statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.ValidateStatusUpdate(obj, old)
}

// WarningsOnUpdate has none: a status is written by controllers.
func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// StatusREST serves the status subresource of a kind: get, update and patch,
// by the main resource's store under the status strategy.
type StatusREST struct{ store *genericregistry.Store }

var (
	_ rest.Patcher             = (*StatusREST)(nil)
	_ rest.ResetFieldsStrategy = (*StatusREST)(nil)
	_ rest.TableConvertor      = (*StatusREST)(nil)
)

func newStatusREST(main *genericregistry.Store, s strategy) *StatusREST {
	store := *main
	store.UpdateStrategy = statusStrategy{s}
	store.ResetFieldsStrategy = statusStrategy{s}
	return &StatusREST{&store}
}

// New implements rest.Storage.
func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage. The storage is the main resource's to end.
func (r *StatusREST) Destroy() {}

// Get implements rest.Getter.
func (r *StatusREST) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, o)
}

// Update implements rest.Updater. A status is never created, not even by
// server-side apply.
func (r *StatusREST) Update(ctx context.Context, name string, obj rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, obj, create, update, false, o)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (r *StatusREST) ConvertToTable(ctx context.Context, obj, opts runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, opts)
}

// UpdateStrategy is what an update of the status goes through.
func (r *StatusREST) UpdateStrategy() rest.RESTUpdateStrategy { return r.store.UpdateStrategy }
