package apiserver

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// clustersDoor marks the context of a request that came by
// /clusters/<workspace>/….
type clustersDoor struct{}

// throughDoor is the context of a request that came by the door of ws.
func throughDoor(ctx context.Context, ws string) context.Context {
	return context.WithValue(repostore.WithWorkspace(ctx, ws), clustersDoor{}, true)
}

// doorAuthorizer keeps the door /clusters/<workspace>/… shut for everybody but
// the server itself, unless it is open. What else a request needs is the inner
// authorizer's to say: it knows nothing of workspaces.
type doorAuthorizer struct {
	authorizer.Authorizer
	open bool
}

// Authorize implements authorizer.Authorizer.
func (a doorAuthorizer) Authorize(ctx context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.shut(ctx, attrs) {
		return authorizer.DecisionDeny, "the server doesn't serve workspaces by their own paths", nil
	}
	return a.Authorizer.Authorize(ctx, attrs)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (a doorAuthorizer) ConditionsAwareAuthorize(ctx context.Context, attrs authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if a.shut(ctx, attrs) {
		return authorizer.ConditionsAwareDecisionDeny("the server doesn't serve workspaces by their own paths", nil)
	}
	return a.Authorizer.ConditionsAwareAuthorize(ctx, attrs)
}

func (a doorAuthorizer) shut(ctx context.Context, attrs authorizer.Attributes) bool {
	if came, _ := ctx.Value(clustersDoor{}).(bool); a.open || !came {
		return false
	}
	u := attrs.GetUser()
	return u == nil || u.GetName() != user.APIServerUser || !slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
}

// executeAuthorizer asks for the verb execute. By the door of a workspace nobody has
// it: who comes there stands for users that this server doesn't know.
type executeAuthorizer struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a executeAuthorizer) Authorize(ctx context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	if came, _ := ctx.Value(clustersDoor{}).(bool); came {
		return authorizer.DecisionDeny, "nobody has it by the path of a workspace, where users aren't known", nil
	}
	return a.Authorizer.Authorize(ctx, attrs)
}
