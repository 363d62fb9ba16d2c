package apiserver

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// accessVerb is what a user needs on the path /clusters/<workspace> to come by it.
const accessVerb = "access"

// entry is how a request came in by /clusters/<workspace>/….
type entry struct {
	workspace string
	// shard is the common name of the kcp shard that sent it; "": whoever else.
	shard string
	// user of a shard's request.
	user user.Info

	*visit
}

// visit is what the log tells of a request.
type visit struct {
	remote, path, cn string
	refused          atomic.Bool
}

type entryKey struct{}

// withEntry is the context of a request that came in so.
func withEntry(ctx context.Context, e *entry) context.Context {
	return context.WithValue(repostore.WithWorkspace(ctx, e.workspace), entryKey{}, e)
}

// entryFrom is nil where the request came by neither door.
func entryFrom(ctx context.Context) *entry {
	e, _ := ctx.Value(entryKey{}).(*entry)
	return e
}

// annotate tells the audit log the workspace, which the path no longer has.
func (e *entry) annotate(ctx context.Context) {
	audit.AddAuditAnnotation(ctx, "socialweb.computer/workspace", e.workspace)
}

// refuse logs and counts a refusal, once for each request.
func (v *visit) refuse(ctx context.Context, why metrics.DoorRefusal, more ...any) {
	if v.refused.CompareAndSwap(false, true) {
		logRefusal(ctx, why, v.remote, v.path, v.cn, more...)
	}
}

// unauthenticated notes that nobody knows who asks.
func (e *entry) unauthenticated(ctx context.Context, err error) {
	var more []any
	if err != nil {
		more = []any{"because", shortened(err.Error())}
	}
	e.refuse(ctx, metrics.DoorUnauthenticated, more...)
}

// doorAuthorizer decides what comes by a door. Over a shard's certificate kcp has
// authorized it, and what kcp does not send isn't let through. Everybody else needs the
// verb access on the path of the workspace, where the door is open at all; the server
// itself doesn't. What else such a request needs is the inner authorizer's to say: it
// knows nothing of workspaces.
type doorAuthorizer struct {
	authorizer.Authorizer
	open bool
}

// Authorize implements authorizer.Authorizer.
func (a doorAuthorizer) Authorize(ctx context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	v := a.decide(ctx, attrs)
	if v.decision == authorizer.DecisionNoOpinion && v.err == nil {
		return a.Authorizer.Authorize(ctx, attrs)
	}
	return v.decision, v.reason, v.err
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (a doorAuthorizer) ConditionsAwareAuthorize(ctx context.Context, attrs authorizer.Attributes) authorizer.ConditionsAwareDecision {
	v := a.decide(ctx, attrs)
	if v.decision == authorizer.DecisionNoOpinion && v.err == nil {
		return a.Authorizer.ConditionsAwareAuthorize(ctx, attrs)
	}
	return authorizer.ConditionsAwareDecisionFromParts(v.decision, v.reason, v.err)
}

// verdict of the door. NoOpinion without an error leaves it to the inner authorizer.
type verdict struct {
	decision authorizer.Decision
	reason   string
	err      error
}

func (a doorAuthorizer) decide(ctx context.Context, attrs authorizer.Attributes) verdict {
	e := entryFrom(ctx)
	switch {
	case e == nil:
		return verdict{decision: authorizer.DecisionNoOpinion}
	case e.shard != "":
		if fromKCP(attrs, e.workspace) {
			return verdict{decision: authorizer.DecisionAllow, reason: "kcp has authorized it"}
		}
		return a.deny(ctx, e, attrs, metrics.DoorVerb, "kcp sends requests for "+group+" alone, and reads for all workspaces together")
	case itself(attrs.GetUser()):
		return verdict{decision: authorizer.DecisionNoOpinion}
	case !a.open:
		return a.deny(ctx, e, attrs, metrics.DoorAccess, "the server doesn't serve workspaces by their own paths")
	}
	path := clustersPrefix + e.workspace
	decision, reason, err := a.Authorizer.Authorize(ctx, authorizer.AttributesRecord{User: attrs.GetUser(), Verb: accessVerb, Path: path})
	switch {
	case decision == authorizer.DecisionAllow:
		return verdict{decision: authorizer.DecisionNoOpinion}
	case err != nil:
		return verdict{authorizer.DecisionNoOpinion, reason, err}
	}
	return a.deny(ctx, e, attrs, metrics.DoorAccess, "it needs the verb "+accessVerb+" on the non-resource URL "+path)
}

// deny refuses, and notes it where it is the request itself that was asked about.
// Whoever looks whether a user might do something else is no refusal.
func (doorAuthorizer) deny(ctx context.Context, e *entry, attrs authorizer.Attributes, why metrics.DoorRefusal, reason string) verdict {
	info, ok := request.RequestInfoFrom(ctx)
	same := ok && info.Verb == attrs.GetVerb() && info.Resource == attrs.GetResource() && info.Subresource == attrs.GetSubresource() && info.Name == attrs.GetName()
	if same || strings.HasPrefix(attrs.GetVerb(), "impersonate") {
		more := []any{"verb", attrs.GetVerb(), "because", reason}
		if u := attrs.GetUser(); u != nil {
			more = append(more, "user", shortened(u.GetName()))
		}
		e.refuse(ctx, why, more...)
	}
	return verdict{decision: authorizer.DecisionDeny, reason: reason}
}

// itself tells whether u is this server, over its own loopback connection.
func itself(u user.Info) bool {
	return u != nil && u.GetName() == user.APIServerUser && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
}

// executeAuthorizer asks for the verb execute. By the door of a workspace nobody has
// it: who comes there stands for users that this server doesn't know.
type executeAuthorizer struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a executeAuthorizer) Authorize(ctx context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	if entryFrom(ctx) != nil {
		return authorizer.DecisionDeny, "nobody has it by the path of a workspace, where users aren't known", nil
	}
	return a.Authorizer.Authorize(ctx, attrs)
}
