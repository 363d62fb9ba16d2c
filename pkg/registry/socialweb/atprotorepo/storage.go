package atprotorepo

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// Locker makes the writes of a workspace's AtprotoRepos one at a time, over all
// replicas of the server.
type Locker interface {
	// Lock waits for the lock of that name, until unlock is called.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// REST serves AtprotoRepos, of which one a workspace at most is the default.
type REST struct {
	*registry.REST
	locker Locker
}

var _ rest.StandardStorage = (*REST)(nil)

// NewREST makes the main resource and the status subresource of kind, which is that of
// [Kind].
func NewREST(kind registry.Kind, typer runtime.ObjectTyper, options generic.RESTOptionsGetter, locker Locker) (*REST, *registry.StatusREST, error) {
	main, status, err := registry.NewREST(kind, typer, options)
	if err != nil {
		return nil, nil, err
	}
	return &REST{main, locker}, status, nil
}

// Create implements part of rest.StandardStorage. An AtprotoRepo that is the default is created
// under the workspace's lock, so that two at once can't both be it.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, o *metav1.CreateOptions) (runtime.Object, error) {
	if !repo(obj).Spec.Default {
		return r.REST.Create(ctx, obj, validate, o)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return r.REST.Create(ctx, obj, r.onlyDefault(validate), o)
}

// Update implements part of rest.StandardStorage. What the update makes of the object is known
// inside of it only, so every update of the main resource takes the lock: they
// are rare.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceCreate bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	checked := func(ctx context.Context, obj, old runtime.Object) error {
		if repo(obj).Spec.Default && !repo(old).Spec.Default {
			if err := r.checkOnlyDefault(ctx, repo(obj)); err != nil {
				return err
			}
		}
		if update == nil {
			return nil
		}
		return update(ctx, obj, old)
	}
	return r.REST.Update(ctx, name, info, r.onlyDefault(create), checked, forceCreate, o)
}

// onlyDefault adds the check to a validation of new objects.
func (r *REST) onlyDefault(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if repo(obj).Spec.Default {
			if err := r.checkOnlyDefault(ctx, repo(obj)); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		return next(ctx, obj)
	}
}

// checkOnlyDefault refuses obj if another AtprotoRepo of the workspace is the
// default. The caller holds the workspace's lock.
func (r *REST) checkOnlyDefault(ctx context.Context, obj *socialweb.AtprotoRepo) error {
	list, err := r.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.(*socialweb.AtprotoRepoList).Items {
		other := &list.(*socialweb.AtprotoRepoList).Items[i]
		if other.Spec.Default && other.Name != obj.Name {
			at := field.NewPath("spec", "default")
			return apierrors.NewInvalid(socialweb.Kind("AtprotoRepo"), obj.Name, field.ErrorList{
				field.Invalid(at, true, fmt.Sprintf("AtprotoRepo %q is the workspace's default already", other.Name)),
			})
		}
	}
	return nil
}

func (r *REST) lock(ctx context.Context) (unlock func(), err error) {
	ws, _ := repostore.WorkspaceFrom(ctx)
	unlock, err = r.locker.Lock(ctx, "atprotorepos/"+ws)
	if err != nil {
		return nil, apierrors.NewServerTimeout(socialweb.Resource("atprotorepos"), "write", 1)
	}
	return unlock, nil
}
