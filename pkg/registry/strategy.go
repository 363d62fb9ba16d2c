package registry

import (
	"context"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// strategy is what happens to an object on its way to the storage.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind Kind
}

var (
	_ rest.RESTCreateStrategy  = strategy{}
	_ rest.RESTUpdateStrategy  = strategy{}
	_ rest.RESTDeleteStrategy  = strategy{}
	_ rest.ResetFieldsStrategy = strategy{}
)

// NamespaceScoped is false: all kinds are cluster-scoped.
func (strategy) NamespaceScoped() bool { return false }

// AllowCreateOnUpdate is false: a PUT to a name that isn't there is 404, as for
// a custom resource.
func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is false: a PUT without a resourceVersion is 422, as
// for a custom resource. It would overwrite an edit made elsewhere unseen.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize leaves the object as it is.
func (strategy) Canonicalize(runtime.Object) {}

// GetResetFields takes the status out of what an apply to the main resource owns.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.kind.Version, "status")
}

// PrepareForCreate drops the status, which a client can't declare, and sets the
// kind's finalizers: one that a controller sets later comes too late for an
// object that is deleted at once.
func (s strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	prepareMetaForCreate(ctx, obj, s.kind.Finalizers)
	s.kind.SetStatus(obj, nil)
	if s.kind.BeginStatus != nil {
		s.kind.BeginStatus(obj)
	}
	s.kind.admit(ctx, obj, nil)
}

// PrepareForUpdate keeps the status as it is, but for what the kind admits.
func (s strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.kind.SetStatus(obj, old)
	specChanged := !apiequality.Semantic.DeepEqual(s.kind.Spec(obj), s.kind.Spec(old))
	prepareMetaForUpdate(obj, old, specChanged)
	s.kind.admit(ctx, obj, old)
	keepManagedFields(obj, old)
}

// Validate checks a new object.
func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.kind.Validate(obj)
}

// ValidateUpdate checks a changed object.
func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return append(validateMetaUpdate(obj, old), s.kind.ValidateUpdate(obj, old)...)
}

// WarningsOnCreate is the kind's warnings.
func (s strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return s.warnings(obj, nil)
}

// WarningsOnUpdate is the kind's warnings, but for those that held before.
func (s strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	before := s.warnings(old, nil)
	return slices.DeleteFunc(s.warnings(obj, old), func(w string) bool { return slices.Contains(before, w) })
}

func (s strategy) warnings(obj, old runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(obj, old)
}

func resetFields(version schema.GroupVersion, paths ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, p := range paths {
		set.Insert(fieldpath.MakePathOrDie(p))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(version.String()): set}
}
