package controller

import (
	"context"
	"fmt"
	"time"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// reconcileContract takes the next step of a ComputeContract by itself: what nobody
// has taken on is released at once, what is being deleted is released first, what is
// finished goes in its time.
func (r *reconciler) reconcileContract(ctx context.Context, k Key) (time.Time, error) {
	cc := r.cache.Contract(k)
	if cc == nil {
		return time.Time{}, nil
	}
	holder, err := r.holder(ctx, cc)
	if err != nil {
		return time.Time{}, err
	}
	verb, at := lifecycle.DecideContract(cc, holder, r.clock.Now())
	switch verb {
	case lifecycle.Withdraw:
		err = r.api.Withdraw(ctx, cc)
	case lifecycle.Return:
		err = r.api.Release(ctx, k.Workspace, cc.Name, cc.UID)
	case lifecycle.Remove:
		err = r.api.Delete(ctx, k.Workspace, cc.Name, cc.UID)
	case lifecycle.Free:
		err = r.api.Free(ctx, cc)
	default:
		return at, r.flag(ctx, k, cc)
	}
	if err = ignoreGone(err); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", verb, err)
	}
	return at, nil
}

// flag says on a ComputeContract that its workspace is gone, or is back. It comes last:
// nothing that ends one waits for it.
func (r *reconciler) flag(ctx context.Context, k Key, cc *v1alpha1.ComputeContract) error {
	conditions, changed := lifecycle.ContractConditions(cc, r.workspace(k.Workspace), r.clock.Now())
	if !changed {
		return nil
	}
	if err := ignoreGone(r.api.Tell(ctx, cc, conditions)); err != nil {
		return fmt.Errorf("conditions: %w", err)
	}
	return nil
}

// holder says who stands behind a ComputeContract. That somebody is gone takes a
// live read.
func (r *reconciler) holder(ctx context.Context, cc *v1alpha1.ComputeContract) (lifecycle.Holder, error) {
	ref := lifecycle.OwnerOf(cc)
	if ref == nil {
		return lifecycle.HolderNone, nil
	}
	k := Key{ref.Kind, workspaceOf(cc), ref.Name}
	d := r.cache.Deployment(k)
	if d == nil || d.UID != ref.UID {
		var err error
		d, err = r.api.Deployment(ctx, k)
		switch {
		case isGone(err):
			return lifecycle.HolderGone, nil
		case err != nil:
			return 0, fmt.Errorf("%s: %w", k, err)
		case d.UID != ref.UID:
			return lifecycle.HolderGone, nil
		}
	}
	return lifecycle.HolderOf(d, cc), nil
}
