package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/pkg/registry"
	"socialweb.computer/infra-apiserver/pkg/registry/execution"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/atprotorepo"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/computecontract"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/deployment"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/infracollection"
)

// resources are what the group serves, by name.
func (c completedConfig) resources() (map[string]rest.Storage, error) {
	out := map[string]rest.Storage{}
	repo := atprotorepo.Kind(c.extra.HasJetstream)
	gate, successors := c.admit(execution.ForRepos()), &execution.Successors{}
	repo.Admit = func(ctx context.Context, obj, old runtime.Object) error {
		if err := gate(ctx, obj, old); err != nil {
			return err
		}
		return successors.Admit(ctx, obj, old)
	}
	repos, status, err := atprotorepo.NewREST(repo, Scheme, c.generic.RESTOptionsGetter, c.extra.Storage)
	if err != nil {
		return nil, fmt.Errorf("atprotorepos: %w", err)
	}
	out["atprotorepos"], out["atprotorepos/status"] = repos, status
	for _, kind := range c.kinds(repos) {
		main, status, err := registry.NewREST(kind, Scheme, c.generic.RESTOptionsGetter)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Resource.Resource, err)
		}
		out[kind.Resource.Resource], out[kind.Resource.Resource+"/status"] = main, status
	}
	for resource, g := range map[string]execution.Gate{
		"infracollections":          execution.ForInfraCollections(repos),
		"ephemeralinfracollections": execution.ForEphemeralInfraCollections(repos),
	} {
		successors.Add(c.complete(g), out[resource].(rest.Lister))
	}
	return out, nil
}

// kinds are all but AtprotoRepo; repos reads those.
func (c completedConfig) kinds(repos rest.Getter) []registry.Kind {
	infras, ephemeral := infracollection.InfraCollection(), infracollection.EphemeralInfraCollection()
	infras.Admit = c.admit(execution.ForInfraCollections(repos))
	ephemeral.Admit = c.admit(execution.ForEphemeralInfraCollections(repos))
	kinds := []registry.Kind{deployment.Infra(), deployment.EphemeralInfra(), infras, ephemeral}
	if c.extra.ComputeContracts {
		kinds = append(kinds, computecontract.Kind(clock.RealClock{}))
	}
	return kinds
}

// admit is the gate's, with what the server knows.
func (c completedConfig) admit(g execution.Gate) func(ctx context.Context, obj, old runtime.Object) error {
	return c.complete(g).Admit
}

// complete gives a gate the server's authorizer and policy.
func (c completedConfig) complete(g execution.Gate) execution.Gate {
	g.Authorizer, g.Policy = executeAuthorizer{c.generic.Authorization.Authorizer}, c.extra.execute.ask
	return g
}
