package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// Rehearser is a storage that can tell beforehand that it would refuse a write. A dry run
// reaches no storage but to read, and has to say what the write would.
type Rehearser interface {
	// Rehearse returns what a write of obj at key would be refused with, and keeps nothing
	// of it. old is nil at a creation. Neither may be changed.
	Rehearse(ctx context.Context, key string, obj, old runtime.Object) error
}

// rehearsal is what a dry run asks the storage after everybody else has validated the
// object; nil: it isn't one, or nobody is to be asked.
func (r *REST) rehearsal(dryRun []string) func(ctx context.Context, obj, old runtime.Object) error {
	s, ok := r.Store.Storage.Storage.(Rehearser)
	if !ok || !dryrun.IsDryRun(dryRun) {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		name, err := r.Store.ObjectNameFunc(obj)
		if err != nil {
			return err
		}
		key, err := r.Store.KeyFunc(ctx, name)
		if err != nil {
			return err
		}
		return s.Rehearse(ctx, key, obj, old)
	}
}

// rehearsed asks the storage after next.
func (r *REST) rehearsed(next rest.ValidateObjectFunc, dryRun []string) rest.ValidateObjectFunc {
	ask := r.rehearsal(dryRun)
	if ask == nil {
		return next
	}
	return func(ctx context.Context, obj runtime.Object) error {
		if next != nil {
			if err := next(ctx, obj); err != nil {
				return err
			}
		}
		return ask(ctx, obj, nil)
	}
}

func (r *REST) rehearsedUpdate(next rest.ValidateObjectUpdateFunc, dryRun []string) rest.ValidateObjectUpdateFunc {
	ask := r.rehearsal(dryRun)
	if ask == nil {
		return next
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		if next != nil {
			if err := next(ctx, obj, old); err != nil {
				return err
			}
		}
		return ask(ctx, obj, old)
	}
}
