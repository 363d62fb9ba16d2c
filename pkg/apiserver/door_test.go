package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/request"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// rule allows verbs on paths to everybody, and all resources.
type rule struct {
	verb, path string
	err        error
}

func (r rule) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.IsResourceRequest():
		return authorizer.DecisionAllow, "", nil
	case r.err != nil:
		return authorizer.DecisionNoOpinion, "", r.err
	case a.GetVerb() == r.verb && (a.GetPath() == r.path || strings.HasSuffix(r.path, "*") && strings.HasPrefix(a.GetPath(), strings.TrimSuffix(r.path, "*"))):
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "no rule", nil
}

func (r rule) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(r.Authorize(ctx, a))
}

func (r rule) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", errors.New("no conditions")
}

// decided asks both ways, which must agree.
func decided(t *testing.T, ctx context.Context, a doorAuthorizer, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	t.Helper()
	got, reason, err := a.Authorize(ctx, attrs)
	d := a.ConditionsAwareAuthorize(ctx, attrs)
	if d.IsAllow() != (got == authorizer.DecisionAllow) || d.IsDeny() != (got == authorizer.DecisionDeny) || d.IsNoOpinion() != (got == authorizer.DecisionNoOpinion) {
		t.Errorf("%v, with conditions %v", got, d)
	}
	return got, reason, err
}

// Who comes by the path of a workspace needs the verb access on it.
func TestAccess(t *testing.T) {
	away := errors.New("away")
	for name, c := range map[string]struct {
		workspace string
		rule      rule
		want      authorizer.Decision
	}{
		"it":                      {"w1", rule{"access", "/clusters/w1", nil}, authorizer.DecisionAllow},
		"another":                 {"w1", rule{"access", "/clusters/w2", nil}, authorizer.DecisionDeny},
		"one that begins with it": {"w1", rule{"access", "/clusters/w11", nil}, authorizer.DecisionDeny},
		"all":                     {"w1", rule{"access", "/clusters/*", nil}, authorizer.DecisionAllow},
		"all together":            {"*", rule{"access", "/clusters/*", nil}, authorizer.DecisionAllow},
		"one, all together":       {"*", rule{"access", "/clusters/w1", nil}, authorizer.DecisionDeny},
		"another verb":            {"w1", rule{"get", "/clusters/w1", nil}, authorizer.DecisionDeny},
		"nothing":                 {"w1", rule{}, authorizer.DecisionDeny},
		"no answer":               {"w1", rule{err: away}, authorizer.DecisionNoOpinion},
		"the default one":         {"default", rule{"access", "/clusters/default", nil}, authorizer.DecisionAllow},
		"the default one, else":   {"default", rule{"access", "/clusters/w1", nil}, authorizer.DecisionDeny},
	} {
		ctx, log := logged(t.Context())
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIGroup: group, Resource: "infras"}
		ctx = request.WithRequestInfo(withEntry(ctx, &entry{workspace: c.workspace, visit: &visit{path: "/p", remote: "r"}}), info)
		attrs := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "alice"}, Verb: "list", ResourceRequest: true, APIGroup: group, Resource: "infras"}
		before := refusals(t)
		got, reason, err := decided(t, ctx, doorAuthorizer{c.rule, true}, attrs)
		if got != c.want || !errors.Is(err, c.rule.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		n := 0
		if c.want == authorizer.DecisionDeny {
			n = 1
			if missing := lacks(reason+log.String(), []string{"verb access on the non-resource URL /clusters/" + c.workspace, `reason="access"`, `user="alice"`}); len(missing) > 0 {
				t.Errorf("%s: %q is missing in %s, %s", name, missing, reason, log)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != n || refusals(t)[string(metrics.DoorAccess)]-before[string(metrics.DoorAccess)] != n {
			t.Errorf("%s: logged %s", name, log)
		}
	}
}

// What comes from a shard needs nobody's leave, where kcp sends such requests.
func TestRequestsOfShards(t *testing.T) {
	inner := authorizerfactory.NewAlwaysDenyAuthorizer()
	resource := func(verb, g, r string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "alice"}, Verb: verb, ResourceRequest: true, APIGroup: g, Resource: r}
	}
	path := func(verb, p string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "alice"}, Verb: verb, Path: p}
	}
	status := resource("patch", group, "infras")
	status.Subresource, status.Name = "status", "a"
	for name, c := range map[string]struct {
		attrs    authorizer.AttributesRecord
		one, all bool
	}{
		"get":               {resource("get", group, "infras"), true, true},
		"list":              {resource("list", group, "atprotorepos"), true, true},
		"watch":             {resource("watch", group, "infras"), true, true},
		"create":            {resource("create", group, "infras"), true, false},
		"update":            {resource("update", group, "infras"), true, false},
		"patch":             {resource("patch", group, "infras"), true, false},
		"a status":          {status, true, false},
		"delete":            {resource("delete", group, "infras"), true, false},
		"deletecollection":  {resource("deletecollection", group, "infras"), true, false},
		"execute":           {resource("execute", group, "infracollections"), false, false},
		"another verb":      {resource("proxy", group, "infras"), false, false},
		"another group":     {resource("list", "apps", "deployments"), false, false},
		"the core group":    {resource("get", "", "secrets"), false, false},
		"impersonate":       {resource("impersonate", "", "users"), false, false},
		"impersonate group": {resource("impersonate:user-info", "authentication.k8s.io", "users"), false, false},
		"discovery":         {path("get", "/apis"), true, true},
		"of the group":      {path("get", "/apis/"+group+"/v1alpha1"), true, true},
		"without a body":    {path("head", "/apis"), true, true},
		"schemas":           {path("get", "/openapi/v3"), true, true},
		"the version":       {path("get", "/version"), true, true},
		"post to a path":    {path("post", "/apis"), false, false},
		"metrics":           {path("get", "/metrics"), false, false},
		"health":            {path("get", "/livez"), false, false},
		"access":            {path("access", "/clusters/w1"), false, false},
	} {
		for ws, want := range map[string]bool{"w1": c.one, "*": c.all} {
			ctx, log := logged(t.Context())
			info := &request.RequestInfo{IsResourceRequest: c.attrs.ResourceRequest, Verb: c.attrs.Verb, APIGroup: c.attrs.APIGroup, Resource: c.attrs.Resource, Subresource: c.attrs.Subresource, Name: c.attrs.Name, Path: c.attrs.Path}
			ctx = request.WithRequestInfo(withEntry(ctx, &entry{workspace: ws, shard: shardName, visit: &visit{cn: shardName}}), info)
			got, _, err := decided(t, ctx, doorAuthorizer{inner, true}, c.attrs)
			if (got == authorizer.DecisionAllow) != want || (got == authorizer.DecisionDeny) != !want || err != nil {
				t.Errorf("%s in %s: %v, %v", name, ws, got, err)
			}
			if lines := strings.Count(log.String(), `reason="verb"`); (lines == 1) != !want || lines > 1 {
				t.Errorf("%s in %s: logged %s", name, ws, log)
			}
		}
	}
}

// To look whether a user might do something else is no refusal; to impersonate is.
func TestQuestionsAreNoRefusals(t *testing.T) {
	for verb, want := range map[string]int{"list": 1, "get": 0, "impersonate": 1, "impersonate:user-info": 1} {
		ctx, log := logged(t.Context())
		ctx = request.WithRequestInfo(withEntry(ctx, &entry{workspace: "w1", shard: shardName, visit: &visit{}}), &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIGroup: "apps", Resource: "deployments"})
		attrs := authorizer.AttributesRecord{Verb: verb, ResourceRequest: true, APIGroup: "apps", Resource: "deployments"}
		if got, _, _ := decided(t, ctx, doorAuthorizer{authorizerfactory.NewAlwaysAllowAuthorizer(), true}, attrs); got != authorizer.DecisionDeny {
			t.Errorf("%s: %v", verb, got)
		}
		if lines := strings.Count(log.String(), "\n"); lines != want {
			t.Errorf("%s: logged %s", verb, log)
		}
	}
}
