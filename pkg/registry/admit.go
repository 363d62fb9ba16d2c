package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// verdict is what a kind said of the object of a request. The strategy, which is where
// the object can still be changed, can't refuse; validation, which gets copies, can. So
// the one leaves it for the other. A request that is tried again, since the object
// changed meanwhile, is judged again.
type verdict struct{ err error }

type verdictKey struct{}

// judged is the context of a request whose object Admit is asked about. Nil: the kind
// has no Admit.
func (k Kind) judged(ctx context.Context) (context.Context, *verdict) {
	if k.Admit == nil {
		return ctx, nil
	}
	v := &verdict{}
	return context.WithValue(ctx, verdictKey{}, v), v
}

// admit asks the kind, where the request is judged: every create and update of the main
// resource is.
func (k Kind) admit(ctx context.Context, obj, old runtime.Object) {
	if v, ok := ctx.Value(verdictKey{}).(*verdict); ok && k.Admit != nil {
		v.err = k.Admit(ctx, obj, old)
	}
}

// beforeCreate refuses before anybody else validates the object.
func (v *verdict) beforeCreate(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	if v == nil {
		return next
	}
	return func(ctx context.Context, obj runtime.Object) error {
		if v.err != nil || next == nil {
			return v.err
		}
		return next(ctx, obj)
	}
}

func (v *verdict) beforeUpdate(next rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	if v == nil {
		return next
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		if v.err != nil || next == nil {
			return v.err
		}
		return next(ctx, obj, old)
	}
}

// Update implements part of rest.StandardStorage.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceCreate bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	ctx, v := r.kind.judged(ctx)
	create, update = r.rehearsed(v.beforeCreate(create), o.DryRun), r.rehearsedUpdate(v.beforeUpdate(update), o.DryRun)
	return r.Store.Update(ctx, name, info, create, update, forceCreate, o)
}
