package lifecycle

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// messageGone is what is said of a deployment whose workspace is gone. It is published.
const messageGone = "its workspace doesn't bind the APIExport any more, or isn't there"

// Workspace is what is known of the workspace of a deployment.
type Workspace int

const (
	// WorkspaceStays: no workspace comes or goes here, or nobody looks.
	WorkspaceStays Workspace = iota
	// WorkspaceUnknown: nobody knows yet, and what was said last counts.
	WorkspaceUnknown
	// WorkspaceBound: it is there.
	WorkspaceBound
	// WorkspaceGone: it isn't there any more, or has no use for its objects.
	WorkspaceGone
)

// forsaken tells whether the workspace of the deployment is gone.
func (d *Deployment) forsaken(w Workspace) bool {
	return w == WorkspaceGone || w == WorkspaceUnknown && meta.IsStatusConditionFalse(d.Status.Conditions, v1alpha1.ConditionWorkspaceBound)
}

// workspaceCondition says that the workspace is gone, or is back. Of one that never went
// nothing is said: each object would have to be written for it.
func (o *Observed) workspaceCondition(conditions *[]metav1.Condition, set func(kind string, is bool, reason, message string)) {
	const kind = v1alpha1.ConditionWorkspaceBound
	switch o.Workspace {
	case WorkspaceGone:
		set(kind, false, v1alpha1.ReasonWorkspaceGone, messageGone+": it is kept, and nothing new is requested")
	case WorkspaceBound:
		if meta.FindStatusCondition(*conditions, kind) != nil {
			set(kind, true, v1alpha1.ReasonWorkspaceBound, "")
		}
	case WorkspaceStays:
		meta.RemoveStatusCondition(conditions, kind)
	case WorkspaceUnknown:
	}
}
