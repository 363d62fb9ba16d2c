package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind is what the one strategy of all kinds has to know of a kind. Every
// function gets internal objects of that kind alone.
type Kind struct {
	// Resource and Singular name the kind, with its group.
	Resource, Singular schema.GroupResource
	// ShortNames for command lines.
	ShortNames []string
	// Categories that the kind belongs to.
	Categories []string
	// Version is the served one, whose fields field managers own.
	Version schema.GroupVersion

	// New and NewList make empty ones.
	New, NewList func() runtime.Object
	// Spec is a pointer to the object's spec, for comparison.
	Spec func(obj runtime.Object) any
	// SetSpec copies from's spec to to.
	SetSpec func(to, from runtime.Object)
	// SetStatus copies from's status to to; a nil from is the zero status.
	SetStatus func(to, from runtime.Object)
	// KeepStatus copies from from's status to to's what no client writes. Nil:
	// there is nothing like that.
	KeepStatus func(to, from runtime.Object)

	// BeginStatus sets what the status of a new object, otherwise empty, says from the
	// beginning. Nil: nothing.
	BeginStatus func(obj runtime.Object)
	// CompleteStatus fills in what follows from a write of the status and the writer
	// left out. Nil: nothing does.
	CompleteStatus func(obj, old runtime.Object)

	// Validate checks a new object; the other two a change of it.
	Validate                             func(obj runtime.Object) field.ErrorList
	ValidateUpdate, ValidateStatusUpdate func(obj, old runtime.Object) field.ErrorList
	// Admit decides what the requesting user may have of an object that is created or
	// changed, and may write the answer to its status. Its error, an API status, refuses
	// the request. It isn't asked for writes of the status; old is nil at the creation.
	// Nil: everybody may have everything.
	Admit func(ctx context.Context, obj, old runtime.Object) error
	// Warnings tells what a user of this object may not expect; old is nil at its
	// creation. Nil: nothing.
	Warnings func(obj, old runtime.Object) []string

	// Finalizers that an object has from its creation.
	Finalizers []string

	// Columns of the kind's table.
	Columns Columns
}
