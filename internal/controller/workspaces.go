package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// lookAfterWorkspaces makes the controller tell workspaces that are gone.
func (c *Controller) lookAfterWorkspaces(e *export.Client, cl clock.WithTicker) {
	c.bindings = bindings.New(bindings.Config{
		Export: e, Clock: cl,
		Workspaces: c.informers.workspaces,
		Changed:    func(ws string) { c.wake().workspace(ws, c.bindings.State(ws)) },
		Observe:    observeWorkspaces,
	})
	c.reconciler.workspaces = func(ws string) lifecycle.Workspace {
		if ws == defaultWorkspace {
			return lifecycle.WorkspaceStays // it is no kcp's
		}
		switch c.bindings.State(ws) {
		case bindings.Bound:
			return lifecycle.WorkspaceBound
		case bindings.Gone:
			return lifecycle.WorkspaceGone
		}
		return lifecycle.WorkspaceUnknown
	}
}

func (c *Controller) wake() wake { return wake{c.informers, c.queue.Add} }

// workspaces that have objects, but for the server's own.
func (i *informers) workspaces() []string {
	var out []string
	for _, informer := range i.all() {
		out = append(out, informer.GetIndexer().ListIndexFuncValues(cache.NamespaceIndex)...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(ws string) bool { return ws == defaultWorkspace })
}

// workspace: its deployments and ComputeContracts, once it is gone; once it is back, those
// that say that it was gone.
func (w wake) workspace(ws string, is bindings.State) {
	for _, informer := range []cache.SharedIndexInformer{w.infras, w.ephemerals, w.computeContracts} {
		objs, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, ws)
		if err != nil {
			continue // there is such an index
		}
		for _, o := range objs {
			k, conditions := flagged(o)
			if is == bindings.Gone || meta.FindStatusCondition(conditions, v1alpha1.ConditionWorkspaceBound) != nil {
				w.add(k)
			}
		}
	}
}

// flagged is what says that its workspace is gone, and the conditions in which it does.
func flagged(o any) (Key, []metav1.Condition) {
	if cc, ok := o.(*v1alpha1.ComputeContract); ok {
		return keyOf(kindContract, cc), cc.Status.Conditions
	}
	d := deploymentOf(o)
	return keyOfDeployment(d), d.Status.Conditions
}
