package repostore

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

type onceKey struct{}

// Once returns a context of a request that does something else when it is sent again: a
// JSON Patch that appends appends twice.
func Once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

// notAgain is what a client is told of a write that failed: whoever reads Retry-After
// sends the request again without asking anybody (client-go does, whatever the verb), so
// what may stand already, and would be done twice, has none.
func notAgain(ctx context.Context, obj runtime.Object, err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || !apierrors.IsTimeout(err) || !once(ctx, obj) {
		return err
	}
	out := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	out.ErrStatus.Details.RetryAfterSeconds = 0
	return out
}

// once tells whether a write would do something else the second time. Another creation
// by generateName makes another object. obj is nil for what creates nothing.
func once(ctx context.Context, obj runtime.Object) bool {
	if ctx.Value(onceKey{}) != nil {
		return true
	}
	if obj == nil {
		return false
	}
	m, err := meta.Accessor(obj)
	return err == nil && m.GetGenerateName() != ""
}
