package apiserver

import (
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

const group = socialweb.GroupName

var (
	readVerbs  = []string{"get", "list", "watch"}
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// fromKCP tells whether a request is one that kcp sends for a workspace.
func fromKCP(attrs authorizer.Attributes, ws string) bool {
	verb := attrs.GetVerb()
	if !attrs.IsResourceRequest() {
		// The verb of a path is the method, in lower case.
		return (verb == "get" || verb == "head") && servedInWorkspace(attrs.GetPath())
	}
	return attrs.GetAPIGroup() == group &&
		(slices.Contains(readVerbs, verb) || ws != repostore.AllWorkspaces && slices.Contains(writeVerbs, verb))
}
