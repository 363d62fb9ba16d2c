package provider

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	// ErrRefused: there are faults, and nothing was written.
	ErrRefused = errors.New("nothing was written")
	// ErrNotReady: everything was applied, and there are faults.
	ErrNotReady = errors.New("everything is applied, and tenants can't use it yet")
)

// Init sets up the provider workspace. Before it writes anything it looks at all that
// could be looked at, and refuses where there are faults; then it applies one object
// after the other, and waits until kcp has acted on them. What others added to its
// objects stays. Its errors are ErrRefused, ErrNotReady, and what keeps it from looking.
func Init(ctx context.Context, o Options) (*Report, error) {
	r := &Report{}
	if err := o.Validate(); err != nil {
		return r, err
	}
	objects, err := o.objects()
	if err != nil {
		return r, err
	}
	w, err := newWorkspace(o.Config)
	if err != nil {
		return r, err
	}
	if err := o.look(ctx, w, objects, r); err != nil {
		return r, err
	}
	if len(r.Faults) > 0 {
		return r, ErrRefused
	}
	if err := o.write(ctx, w, objects); err != nil || o.DryRun {
		return r, err
	}
	for _, obj := range objects {
		var ask check
		switch obj.GetKind() {
		case "CachedResource":
			ask = w.cached(obj.GetName())
		case "APIExport":
			ask = w.exported(obj.GetName())
		default:
			continue
		}
		f, err := await(ctx, o.Timeout, ask)
		if err != nil {
			return r, err
		}
		if f != nil {
			r.fault(*f)
		}
	}
	if len(r.Faults) > 0 {
		return r, ErrNotReady
	}
	return r, nil
}

// look at everything, and write nothing.
func (o *Options) look(ctx context.Context, w *workspace, objects []*unstructured.Unstructured, r *Report) error {
	found, err := w.checkServed()
	if r.fault(found...); err != nil || len(found) > 0 {
		return err // without its API there is nothing to look at
	}
	for _, obj := range objects {
		switch obj.GetKind() {
		case "APIExport":
			found, err := w.checkExport(ctx, obj)
			if r.fault(found...); err != nil {
				return err
			}
		case "InfraEndpointSlice":
			if err := o.checkEndpoints(ctx, w, obj, r); err != nil {
				return err
			}
		}
	}
	w.checkShards(ctx, o.URLs, r)
	if err := o.checkDoor(ctx, r); err != nil {
		return err
	}
	if len(r.Faults) > 0 {
		return nil // what an apply would be refused for follows from that
	}
	for _, obj := range objects {
		if f := w.rehearse(ctx, obj, o.Force); f != nil {
			r.fault(*f)
		}
	}
	return nil
}

// write, or tell what would be written.
func (o *Options) write(ctx context.Context, w *workspace, objects []*unstructured.Unstructured) error {
	suffix := ""
	if o.DryRun {
		suffix = " (dry run)"
	}
	for _, obj := range objects {
		out, err := w.apply(ctx, obj, o.DryRun, o.Force)
		if o.DryRun && isUndefined(obj, err) {
			out, err = created, nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", label(obj), err)
		}
		fmt.Fprintf(o.Out, "%s %s%s\n", label(obj), out, suffix)
		if obj.GetKind() != "CustomResourceDefinition" || o.DryRun {
			continue
		}
		f, err := await(ctx, establishTimeout, w.established(obj.GetName()))
		if err != nil {
			return err
		}
		if f != nil {
			return fmt.Errorf("%s; %s", f.Fault, f.Remedy)
		}
	}
	return nil
}
