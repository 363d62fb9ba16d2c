package apiserver

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/internal/usage"
)

// withinQuota makes a storage refuse what would pass a limit of its workspace. It is
// the outermost storage: every write of a request passes it, however the request came to
// be a creation. No dry run does: that asks Rehearse. What the storage writes by itself
// doesn't.
func withinQuota(inner generic.StorageDecorator, u *usage.Tracker) generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource, resourcePrefix string,
		key func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
		attrs storage.AttrFunc, trigger storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		s, destroy, err := inner(config, resourcePrefix, key, newFunc, newListFunc, attrs, trigger, indexers)
		if err != nil {
			return nil, nil, err
		}
		return &quotaStorage{Interface: s, usage: u, codec: config.Codec, resource: config.GroupResource}, destroy, nil
	}
}

type quotaStorage struct {
	storage.Interface
	usage    *usage.Tracker
	codec    runtime.Codec
	resource schema.GroupResource
}

// errUnfinished: a write that has not come to its end. One that panics stays so.
var errUnfinished = errors.New("the write has not ended")

// Create implements storage.Interface.
func (s *quotaStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) (err error) {
	var r *usage.Reservation
	if s.limited(ctx) {
		size, err := s.size(ctx, obj)
		if err != nil {
			return err
		}
		if r, err = s.usage.Create(ctx, key, size); err != nil {
			return s.refused(nameIn(obj), err)
		}
	}
	err = errUnfinished
	defer func() { s.end(r, out, err) }()
	err = s.Interface.Create(ctx, key, obj, out, ttl)
	count(ctx, err)
	return err
}

// GuaranteedUpdate implements storage.Interface. An update may create the object, by
// server-side apply.
func (s *quotaStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) (err error) {
	var r *usage.Reservation
	limited := s.limited(ctx)
	err = errUnfinished
	defer func() { s.end(r, out, err) }()
	err = s.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, pre, func(old runtime.Object, res storage.ResponseMeta) (runtime.Object, *uint64, error) {
		r.Done(0) // of a try before
		r = nil
		grows := func(runtime.Object) (int, error) { return 0, nil }
		version, err := s.Versioner().ObjectResourceVersion(old)
		if err != nil {
			return nil, nil, err
		}
		if limited && version != 0 {
			if grows, err = s.growth(ctx, old); err != nil {
				return nil, nil, err
			}
		}
		obj, ttl, err := tryUpdate(old, res)
		if err != nil || !limited {
			return obj, ttl, err
		}
		if version == 0 {
			size, err := s.size(ctx, obj)
			if err != nil {
				return nil, nil, err
			}
			r, err = s.usage.Create(ctx, key, size)
			return obj, ttl, s.refused(nameIn(obj), err)
		}
		more, err := grows(obj)
		if err == nil && more > 0 {
			r, err = s.usage.Grow(ctx, key, more)
			err = s.refused(nameIn(obj), err)
		}
		return obj, ttl, err
	}, cached)
	count(ctx, err)
	return err
}

// Delete implements storage.Interface.
func (s *quotaStorage) Delete(ctx context.Context, key string, out runtime.Object, pre *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	err := s.Interface.Delete(ctx, key, out, pre, validate, cached, opts)
	if err == nil {
		s.usage.Freed(key, s.revision(out))
	}
	count(ctx, err)
	return err
}

// limited tells whether the request may be refused: whoever makes it, but for the
// server itself.
func (s *quotaStorage) limited(ctx context.Context) bool {
	ws, ok := repostore.WorkspaceFrom(ctx)
	if !ok || !s.usage.Limits(ws) {
		return false
	}
	u, ok := genericapirequest.UserFrom(ctx)
	return !ok || !itself(u)
}

// size of a new object, where it matters.
func (s *quotaStorage) size(ctx context.Context, obj runtime.Object) (int, error) {
	if ws, _ := repostore.WorkspaceFrom(ctx); !s.usage.LimitsBytes(ws) {
		return 0, nil
	}
	return s.encoded(obj)
}

// end ends the reservation of a write, by what became of it.
func (s *quotaStorage) end(r *usage.Reservation, out runtime.Object, err error) {
	switch {
	case err == nil:
		r.Done(s.revision(out))
	case errors.Is(err, errUnfinished), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r.Unknown()
	default:
		r.Done(0)
	}
}

func (s *quotaStorage) revision(obj runtime.Object) int64 {
	if obj == nil {
		return 0
	}
	version, err := s.Versioner().ObjectResourceVersion(obj)
	if err != nil {
		return 0
	}
	return int64(version)
}

// refused is what a client is told whose write is refused, which counts.
func (s *quotaStorage) refused(name string, err error) error {
	var exceeded *usage.ExceededError
	if errors.As(err, &exceeded) {
		metrics.WorkspaceRefused(exceeded.Workspace, exceeded.Limit)
	}
	return s.told(name, err)
}

// told is what a client is told. It names nothing that isn't its own workspace's.
func (s *quotaStorage) told(name string, err error) error {
	var exceeded *usage.ExceededError
	switch {
	case errors.As(err, &exceeded):
		return apierrors.NewForbidden(s.resource, name, fmt.Errorf(
			"%w; delete what the workspace doesn't need, or ask the operator of the server for more (--workspace-max-%s)", exceeded, exceeded.Limit))
	case errors.Is(err, usage.ErrNotReady):
		unavailable := apierrors.NewServiceUnavailable(err.Error() + ": try again")
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return unavailable
	}
	return err
}

func nameIn(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetName()
}

// count counts a write that a request made.
func count(ctx context.Context, err error) {
	if ws, ok := repostore.WorkspaceFrom(ctx); ok && err == nil {
		metrics.WorkspaceWrite(ws)
	}
}
