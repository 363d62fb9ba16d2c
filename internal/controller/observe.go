package controller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// observe gathers what a decision on a deployment, read already, depends on. What
// can't be read is an error: nothing is decided on half of the truth.
func (r *reconciler) observe(ctx context.Context, k Key, d *lifecycle.Deployment) (*lifecycle.Observed, error) {
	w := r.workspace(k.Workspace)
	o := &lifecycle.Observed{Deployment: d, Now: r.clock.Now(), Workspace: w, Gate: r.gate(k, d, w), Found: map[string]*v1alpha1.ComputeContract{}}
	cached := r.cache.ContractsOf(d.UID)
	for _, q := range lifecycle.Questions(d, o.Gate) {
		cc, err := r.find(ctx, k.Workspace, q, cached)
		if err != nil {
			return nil, err
		}
		o.Found[q.Contract] = cc
	}
	return o, r.findUnnamed(ctx, o, cached)
}

// find answers a question, from the cache if that will do.
func (r *reconciler) find(ctx context.Context, workspace string, q lifecycle.Question, cached []*v1alpha1.ComputeContract) (*v1alpha1.ComputeContract, error) {
	if q.UID != "" {
		for _, cc := range cached {
			if cc.UID == q.UID {
				return cc, nil
			}
		}
	}
	cc, err := r.api.Contract(ctx, workspace, q.Name)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ComputeContract %s: %w", q.Name, err)
	}
	return cc, nil
}

// findUnnamed looks for ComputeContracts of the deployment that it knows nothing of.
func (r *reconciler) findUnnamed(ctx context.Context, o *lifecycle.Observed, cached []*v1alpha1.ComputeContract) error {
	d := o.Deployment
	note := func(cc *v1alpha1.ComputeContract) {
		known := slices.ContainsFunc(o.Unnamed, func(u *v1alpha1.ComputeContract) bool { return u.UID == cc.UID })
		if !known && d.Owns(cc) && !d.Names(cc) {
			o.Unnamed = append(o.Unnamed, cc)
		}
	}
	if lifecycle.NeedsList(d) {
		list, err := r.api.ContractsOf(ctx, d)
		if err != nil {
			return fmt.Errorf("listing ComputeContracts: %w", err)
		}
		for _, cc := range list {
			note(cc)
		}
		o.Listed = true
	}
	for _, cc := range cached {
		if d.Names(cc) {
			continue
		}
		// A cache is no proof that it is there still.
		live, err := r.find(ctx, workspaceOf(d), lifecycle.Question{Name: cc.Name}, nil)
		if err != nil {
			return err
		}
		if live != nil {
			note(live)
		}
	}
	return nil
}

// gate judges the execution of a deployment.
func (r *reconciler) gate(k Key, d *lifecycle.Deployment, w lifecycle.Workspace) lifecycle.Verdict {
	if d.Spec.Record == nil {
		return lifecycle.Gate(d, w, nil, nil)
	}
	var collection *lifecycle.Collection
	if name := collectionOf(d); name != "" {
		if collection = r.cache.Collection(k.Kind, k.Workspace, name); collection == nil {
			collection = &lifecycle.Collection{Name: name}
		}
	}
	return lifecycle.Gate(d, w, r.cache.Repo(k.Workspace, d.Spec.Record.RepoRef.Name), collection)
}

// collectionOf is the name of the collection that serves a deployment; "": none does.
// The label may be a hash of it, the owner reference never is.
func collectionOf(d *lifecycle.Deployment) string {
	label := d.Labels[v1alpha1.LabelCollection]
	if label == "" {
		return ""
	}
	if ref := metav1.GetControllerOfNoCopy(d); ref != nil && ref.Kind == d.Kind+"Collection" {
		return ref.Name
	}
	return label
}
