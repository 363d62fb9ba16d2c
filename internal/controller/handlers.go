package controller

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// wake says what each change makes worth a look.
type wake struct {
	*informers
	add func(Key)
}

// register the handlers, before the informers run.
func (w wake) register() error {
	var errs []error
	on := func(informer cache.SharedIndexInformer, changed func(was, is any)) {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { changed(nil, o) },
			UpdateFunc: changed,
			DeleteFunc: func(o any) {
				if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = gone.Obj
				}
				changed(o, nil)
			},
		})
		errs = append(errs, err)
	}
	on(w.infras, w.deployment)
	on(w.ephemerals, w.deployment)
	on(w.computeContracts, w.contract)
	on(w.repos, w.repo)
	on(w.collections, w.collection)
	on(w.ephemeralCs, w.collection)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("event handlers: %w", err)
	}
	return nil
}

// deployment: itself, and those of its ComputeContracts that may wait for it: that
// it knows how they ended, or is gone.
func (w wake) deployment(was, is any) {
	o := is
	if is == nil {
		o = was
	}
	d := deploymentOf(o)
	w.add(keyOfDeployment(d))
	for _, cc := range w.ContractsOf(d.UID) {
		if is == nil || cc.DeletionTimestamp != nil {
			w.add(keyOf(kindContract, cc))
		}
	}
}

// contract: itself, and its deployment. Where that was taken from it the labels tell,
// if its name is short enough for one.
func (w wake) contract(was, is any) {
	for _, o := range []any{was, is} {
		cc, ok := o.(*v1alpha1.ComputeContract)
		if !ok {
			continue
		}
		w.add(keyOf(kindContract, cc))
		kind, name := cc.Labels[v1alpha1.LabelKind], cc.Labels[v1alpha1.LabelName]
		if ref := lifecycle.OwnerOf(cc); ref != nil {
			kind, name = ref.Kind, ref.Name
		}
		if kind == lifecycle.KindInfra || kind == lifecycle.KindEphemeralInfra {
			w.add(Key{kind, workspaceOf(cc), name})
		}
	}
}

// repo: what is bound to it, once it may run or may not any more. Most changes of an
// AtprotoRepo tell of commits.
func (w wake) repo(was, is any) {
	a, _ := was.(*v1alpha1.AtprotoRepo)
	b, _ := is.(*v1alpha1.AtprotoRepo)
	if a != nil && b != nil && a.Spec.Execution == b.Spec.Execution && a.Status.Access == b.Status.Access && a.Status.ExecuteGranted == b.Status.ExecuteGranted {
		return
	}
	o := b
	if o == nil {
		o = a
	}
	w.boundTo(o, o.Name)
}

// collection: what is bound to its repository.
func (w wake) collection(was, is any) {
	a, b := collectionSpec(was), collectionSpec(is)
	if a != nil && b != nil && *a == *b {
		return
	}
	o, c := is, b
	if is == nil {
		o, c = was, a
	}
	w.boundTo(o.(metav1.Object), c.repo)
}

// gateOf is what counts of a collection.
type gateOf struct {
	repo      string
	execution v1alpha1.ExecutionPolicy
	granted   bool
}

func collectionSpec(o any) *gateOf {
	switch o := o.(type) {
	case *v1alpha1.InfraCollection:
		return &gateOf{o.Spec.RepoRef.Name, o.Spec.Execution, o.Status.ExecuteGranted}
	case *v1alpha1.EphemeralInfraCollection:
		return &gateOf{o.Spec.RepoRef.Name, o.Spec.Execution, o.Status.ExecuteGranted}
	}
	return nil
}

// boundTo wakes the deployments of a repository in the workspace of o.
func (w wake) boundTo(o metav1.Object, repo string) {
	for _, informer := range []cache.SharedIndexInformer{w.infras, w.ephemerals} {
		objs, err := informer.GetIndexer().ByIndex(indexRepo, workspaceOf(o)+"/"+repo)
		if err != nil {
			continue // there is such an index
		}
		for _, o := range objs {
			w.add(keyOfDeployment(deploymentOf(o)))
		}
	}
}
