package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// useWorkspaceKeys makes the store keep its objects at
// /<resource>/<workspace>/<name>, with the workspace of the request's context.
// Two workspaces can't meet: a list's key ends with the workspace's own slash
// (the storage adds it), and a workspace's name holds none.
func useWorkspaceKeys(s *genericregistry.Store) {
	prefix := "/" + s.DefaultQualifiedResource.Resource
	s.KeyRootFunc = func(ctx context.Context) string { return rootKey(ctx, prefix) }
	s.KeyFunc = func(ctx context.Context, name string) (string, error) {
		return objectKey(ctx, s.DefaultQualifiedResource, prefix, name)
	}
}

// rootKey is where the objects of the context's workspace lie. Without a
// workspace, and for all of them, it is where every object lies.
func rootKey(ctx context.Context, prefix string) string {
	ws, ok := repostore.WorkspaceFrom(ctx)
	if !ok || ws == repostore.AllWorkspaces {
		return prefix
	}
	return prefix + "/" + ws
}

// objectKey is where one object lies. All workspaces together have no single
// object of a name, so a request for one is refused.
func objectKey(ctx context.Context, gr schema.GroupResource, prefix, name string) (string, error) {
	ws, ok := repostore.WorkspaceFrom(ctx)
	if !ok || !repostore.ValidWorkspace(ws) {
		return "", apierrors.NewBadRequest("a single object of " + gr.String() + " needs one workspace, not " + quoteWorkspace(ws))
	}
	if name == "" {
		return "", apierrors.NewBadRequest("name parameter required")
	}
	if msgs := content.IsPathSegmentName(name); len(msgs) != 0 {
		return "", apierrors.NewBadRequest("name parameter invalid: " + name + ": " + msgs[0])
	}
	return prefix + "/" + ws + "/" + name, nil
}

func quoteWorkspace(ws string) string {
	if ws == "" {
		return "none"
	}
	return "\"" + ws + "\""
}
