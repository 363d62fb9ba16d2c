package credentials

import "context"

// Split asks one provider for the workspace of the server's own cluster and another for
// all others.
type Split struct {
	// Default is the name of the server's own workspace.
	Default string
	// Own has its credentials, Others those of all other workspaces.
	Own, Others Provider
}

var _ Provider = Split{}

// Get implements Provider.
func (s Split) Get(ctx context.Context, workspace, name string) (Credentials, error) {
	if workspace == s.Default {
		return s.Own.Get(ctx, workspace, name)
	}
	return s.Others.Get(ctx, workspace, name)
}
