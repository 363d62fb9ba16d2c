package repostore

import (
	"context"
	"regexp"
)

const (
	// DefaultWorkspace is the one workspace of a plain server.
	DefaultWorkspace = "default"
	// AllWorkspaces is the wildcard of kcp's /clusters/* paths. It skips the
	// barrier: it is for the controller and the shard alone.
	AllWorkspaces = "*"
	// ClusterAnnotation names the workspace on every object, as kcp's clients
	// expect it. It is immutable.
	ClusterAnnotation = "kcp.io/cluster"
)

var workspaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidWorkspace tells whether name can be a workspace (a kcp logical cluster
// name: a DNS-1123 label). It is the only gate between a URL and an etcd key.
func ValidWorkspace(name string) bool { return workspaceName.MatchString(name) }

type workspaceKey struct{}

// WithWorkspace returns a context whose storage calls are of workspace ws.
func WithWorkspace(ctx context.Context, ws string) context.Context {
	return context.WithValue(ctx, workspaceKey{}, ws)
}

// WorkspaceFrom is the workspace of the request. ok is false where there is no
// request: internal callers (statistics, the consistency checker), which read
// etcd alone.
func WorkspaceFrom(ctx context.Context) (ws string, ok bool) {
	ws, ok = ctx.Value(workspaceKey{}).(string)
	return ws, ok
}
