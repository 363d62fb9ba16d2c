package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// messageGone is what is said of what is in a workspace that is gone. Of a deployment it is
// published.
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
func workspaceCondition(is Workspace, conditions *[]metav1.Condition, gone string, set func(kind string, is bool, reason, message string)) {
	const kind = v1alpha1.ConditionWorkspaceBound
	switch is {
	case WorkspaceGone:
		set(kind, false, v1alpha1.ReasonWorkspaceGone, messageGone+": "+gone)
	case WorkspaceBound:
		if meta.FindStatusCondition(*conditions, kind) != nil {
			set(kind, true, v1alpha1.ReasonWorkspaceBound, "")
		}
	case WorkspaceStays:
		meta.RemoveStatusCondition(conditions, kind)
	case WorkspaceUnknown:
	}
}

// ContractConditions are those of a ComputeContract with what is known of its workspace.
// changed tells whether it says otherwise now.
func ContractConditions(cc *v1alpha1.ComputeContract, is Workspace, now time.Time) (out []metav1.Condition, changed bool) {
	out = slices.Clone(cc.Status.Conditions)
	workspaceCondition(is, &out, "it is kept until somebody releases the workspace", func(kind string, is bool, reason, message string) {
		changed = meta.SetStatusCondition(&out, condition(kind, is, reason, message, 0, now))
	})
	return out, changed || len(out) != len(cc.Status.Conditions)
}
