package execution

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// Successors decides who may create an AtprotoRepo under a name that collections have a
// grant for. The grant was given for the account of that name, or for one to come: an
// AtprotoRepo can be deleted and made again for another account, whose records would
// then run. So it takes who could give the grant.
type Successors struct{ of []granters }

type granters struct {
	gate Gate
	list rest.Lister
}

// Add makes it look at the collections of a gate, which has its authorizer. list lists
// those of the context's workspace.
func (s *Successors) Add(g Gate, list rest.Lister) { s.of = append(s.of, granters{g, list}) }

// Admit implements registry.Kind's Admit for AtprotoRepos.
func (s *Successors) Admit(ctx context.Context, obj, old runtime.Object) error {
	if old != nil {
		return nil
	}
	repo := obj.(*socialweb.AtprotoRepo)
	for _, of := range s.of {
		all, err := of.list.List(ctx, &internalversion.ListOptions{})
		if err != nil {
			return err
		}
		err = meta.EachListItem(all, func(c runtime.Object) error { return of.succeeded(ctx, repo, c) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (g granters) succeeded(ctx context.Context, repo *socialweb.AtprotoRepo, collection runtime.Object) error {
	c := g.gate.Subject(collection)
	if c.Source != repo.Name || !*c.Granted {
		return nil
	}
	may, why, err := g.gate.may(ctx, c.Name)
	switch {
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("whether the user has the verb %s on %s %q can't be found out: %w", Verb, g.gate.Resource, c.Name, err))
	case may:
		return nil
	}
	byPolicy := g.gate.Policy.of(ctx, did(repo))
	switch {
	case byPolicy.may:
		return nil
	case byPolicy.asked:
		return apierrors.NewForbidden(socialweb.Resource("atprotorepos"), repo.Name, fmt.Errorf(
			"%s %q was granted to run what the records of the AtprotoRepo of this name ask for, and %s, or set the collection's spec.execution to ObserveOnly first", g.gate.Resource, c.Name, byPolicy.remedy()))
	}
	return apierrors.NewForbidden(socialweb.Resource("atprotorepos"), repo.Name, fmt.Errorf(
		"%s %q was granted to run what the records of the AtprotoRepo of this name ask for, and another account may get it: that needs the verb %q on the collection%s: have it granted, or set the collection's spec.execution to ObserveOnly first",
		g.gate.Resource, c.Name, Verb, why))
}
