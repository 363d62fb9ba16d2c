package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
)

// reconcileDeployment takes the next step of a deployment: it looks, decides, writes
// the status that follows, and acts. It returns when to look again; zero: when
// something happens.
func (r *reconciler) reconcileDeployment(ctx context.Context, k Key) (time.Time, error) {
	d := r.cache.Deployment(k)
	if d == nil {
		return time.Time{}, nil // its ComputeContracts see to themselves
	}
	o, err := r.observe(ctx, k, d)
	if err != nil {
		return time.Time{}, err
	}
	decision := lifecycle.Decide(o)
	d, err = r.confirm(ctx, k, d, &decision)
	if err != nil {
		return time.Time{}, err
	}
	if err := r.actAll(ctx, k, d, decision.Actions); err != nil {
		return time.Time{}, err
	}
	return decision.At, nil
}

// actAll carries out the actions. One that is refused, by a quota perhaps, and for
// long, keeps no other contract from being released; only the deployment's own end waits.
// The status says what was refused.
func (r *reconciler) actAll(ctx context.Context, k Key, d *lifecycle.Deployment, actions []lifecycle.Action) error {
	var errs []error
	var refusals []lifecycle.Refusal
	for i := range actions {
		a := &actions[i]
		if len(errs) > 0 && (a.Do == lifecycle.LetGo || a.Do == lifecycle.End) {
			continue
		}
		if err := r.act(ctx, k, d, a); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", a.Do, a.Name, d.Hide(err))) // it is logged
			refusals = append(refusals, refusalsOf(a.Do, a.Contract, err)...)
		}
	}
	return errors.Join(append(errs, r.refuse(ctx, k, d, refusals))...)
}

// refuse writes what was refused to the status, unless it says so already.
func (r *reconciler) refuse(ctx context.Context, k Key, d *lifecycle.Deployment, refusals []lifecycle.Refusal) error {
	status, changed := lifecycle.Refuse(d, refusals, r.clock.Now())
	if !changed {
		return nil
	}
	next := *d
	next.Status = status
	written, err := r.api.UpdateStatus(ctx, &next)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	r.tell(ctx, k, d, written)
	return nil
}

// confirm writes the status that was decided, under the finalizer if it takes that.
// Where that changes nothing, it is written only if an action depends on the
// deployment's being as it was read.
func (r *reconciler) confirm(ctx context.Context, k Key, d *lifecycle.Deployment, decision *lifecycle.Decision) (*lifecycle.Deployment, error) {
	held := d
	if decision.Hold {
		var err error
		if held, err = r.api.Hold(ctx, d); err != nil {
			// Nothing of the decision may be written without it but what it says of itself.
			said := *d
			said.Status.Conditions = decision.Status.Conditions
			return nil, errors.Join(fmt.Errorf("finalizer: %w", err), r.refuse(ctx, k, &said, refusalsOf(lifecycle.Hold, "", err)))
		}
	}
	next := *held
	switch {
	case decision.Changed:
		next.Status = decision.Status
	case !slices.ContainsFunc(decision.Actions, func(a lifecycle.Action) bool { return a.Confirm }):
		return held, nil
	}
	written, err := r.api.UpdateStatus(ctx, &next)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	if decision.Changed {
		r.tell(ctx, k, d, written)
	}
	return written, nil
}

// act carries out one action.
func (r *reconciler) act(ctx context.Context, k Key, d *lifecycle.Deployment, a *lifecycle.Action) error {
	switch a.Do {
	case lifecycle.Create:
		return r.api.Create(ctx, d, a)
	case lifecycle.Release:
		return ignoreGone(r.api.Release(ctx, k.Workspace, a.Name, a.UID))
	case lifecycle.Delete:
		return ignoreGone(r.api.Delete(ctx, k.Workspace, a.Name, a.UID))
	case lifecycle.Forget:
		return ignoreGone(r.api.Free(ctx, a.Seen))
	case lifecycle.LetGo:
		return ignoreGone(r.api.LetGo(ctx, d))
	case lifecycle.End:
		return r.end(ctx, k, d)
	}
	return fmt.Errorf("unknown action %q", a.Do)
}

// end deletes a deployment that has ended. One of a record that is somebody else's can't
// be: it stays, ended, and goes with its record or its collection. That it may be
// deleted after all is told by its repository.
func (r *reconciler) end(ctx context.Context, k Key, d *lifecycle.Deployment) error {
	err := r.api.End(ctx, d)
	if d.Spec.Record != nil && apierrors.IsForbidden(err) {
		klog.FromContext(ctx).V(1).Info("It has ended, and stays", "kind", k.Kind, "object", klog.KObj(k), "err", err)
		return nil
	}
	return ignoreGone(err)
}
