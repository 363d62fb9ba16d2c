package controller

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
)

// reconciler does the work. It keeps nothing between two calls: what it must
// remember is in the status of the deployments.
type reconciler struct {
	api   API
	cache Cache
	clock clock.PassiveClock
	tell  teller
	// workspaces tells of those that may go; nil: none does.
	workspaces func(name string) lifecycle.Workspace
}

// workspace is what is known of one.
func (r *reconciler) workspace(name string) lifecycle.Workspace {
	if r.workspaces == nil {
		return lifecycle.WorkspaceStays
	}
	return r.workspaces(name)
}

// reconcile takes the next step of an object.
func (r *reconciler) reconcile(ctx context.Context, k Key) (time.Time, error) {
	if k.Kind == kindContract {
		return r.reconcileContract(ctx, k)
	}
	return r.reconcileDeployment(ctx, k)
}
