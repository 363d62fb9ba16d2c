package repos

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Workspaces are those that have AtprotoRepos or collections, as far as is known now, but
// for the server's own. A workspace that has none is nobody's here to flag.
func (m *Manager) Workspaces() []string {
	var out []string
	for _, o := range m.mirror.store.List() {
		out = append(out, o.(entry).key().workspace)
	}
	for _, k := range m.collections.keys() {
		out = append(out, k.workspace)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(ws string) bool { return ws == repostore.DefaultWorkspace })
}

// presence of a workspace.
type presence int

const (
	workspaceStays   presence = iota // no workspace comes or goes here
	workspaceUnknown                 // nobody knows yet, and what was said last counts
	workspaceThere                   // it binds the export
	workspaceGone                    // it doesn't any more, or isn't there
)

func (m *Manager) presenceOf(workspace string) presence {
	if m.Workspace == nil || workspace == repostore.DefaultWorkspace {
		return workspaceStays
	}
	switch m.Workspace(workspace) {
	case bindings.Gone:
		return workspaceGone
	case bindings.Bound:
		return workspaceThere
	default:
		return workspaceUnknown
	}
}

// messageGone is what is said of an object whose workspace is gone.
const messageGone = "its workspace doesn't bind the APIExport any more, or isn't there: it is kept until somebody releases the workspace"

// workspaceBound says that the workspace is gone, or is back. Of one that never went
// nothing is said.
func (c conditions) workspaceBound(is presence) {
	const kind = v1alpha1.ConditionWorkspaceBound
	switch is {
	case workspaceGone:
		c.set(kind, no, v1alpha1.ReasonWorkspaceGone, messageGone)
	case workspaceThere:
		if meta.FindStatusCondition(*c.list, kind) != nil {
			c.set(kind, yes, v1alpha1.ReasonWorkspaceBound, "")
		}
	case workspaceStays:
		meta.RemoveStatusCondition(c.list, kind)
	case workspaceUnknown:
	}
}
