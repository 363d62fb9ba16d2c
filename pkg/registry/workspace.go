package registry

import (
	"context"
	"regexp"
)

const (
	DefaultWorkspace  = "default"
	AllWorkspaces     = "*"
	ClusterAnnotation = "kcp.io/cluster"
)

var workspaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func ValidWorkspace(name string) bool { return workspaceName.MatchString(name) }

type workspaceKey struct{}

func WithWorkspace(ctx context.Context, ws string) context.Context {
	return context.WithValue(ctx, workspaceKey{}, ws)
}

func WorkspaceFrom(ctx context.Context) (ws string, ok bool) {
	ws, ok = ctx.Value(workspaceKey{}).(string)
	return ws, ok
}
