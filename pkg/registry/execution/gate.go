// Package execution decides who may have contracts run that somebody else's records
// ask for.
package execution

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Verb is the RBAC verb that spec.execution Follow needs on an object whose repository
// can't be written.
const Verb = "execute"

// Subject is what a gate looks at in an object.
type Subject struct {
	// Name of the object; "" before one is generated.
	Name string
	// Execution is spec.execution.
	Execution socialweb.ExecutionPolicy
	// Source is whose records run, as the object names it. The answer is about that
	// one: a write that changes it is asked about anew.
	Source string
	// Granted is status.executeGranted, which the gate writes.
	Granted *bool
}

// Gate decides for one resource.
type Gate struct {
	// Resource that the verb is asked for.
	Resource schema.GroupResource
	// Authorizer says whether a user has the verb.
	Authorizer authorizer.Authorizer
	// Subject of an object.
	Subject func(obj runtime.Object) Subject
	// Policy is asked where the user hasn't the verb. Nil: the verb alone counts.
	Policy Policy
	// Account is the DID of the account whose records run; "" where it isn't known yet.
	Account func(ctx context.Context, obj runtime.Object) (did string, err error)
	// Writable tells whether the object's spec asks for a repository that can be
	// written. Its records are then this server's own, and run without the verb.
	Writable func(ctx context.Context, obj runtime.Object) (bool, error)
}

// Admit implements registry.Kind's Admit. A user who has the verb, or for whom the
// policy says so, and who asks for Follow grants it, for as long as spec.execution and the source stay as they are. Who has it
// not gets 403, or no grant where none is needed now: should the repository cease to be
// writable, nothing runs.
func (g Gate) Admit(ctx context.Context, obj, old runtime.Object) error {
	now := g.Subject(obj)
	if now.Execution != socialweb.ExecutionFollow {
		*now.Granted = false
		return nil
	}
	if old != nil {
		if was := g.Subject(old); was.Execution == now.Execution && was.Source == now.Source {
			*now.Granted = *was.Granted
			return nil
		}
	}
	*now.Granted = false
	may, why, err := g.may(ctx, now.Name)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("whether the user has the verb %s on %s %q can't be found out: %w", Verb, g.Resource, now.Name, err))
	}
	byPolicy := answer{}
	if !may {
		if byPolicy, err = g.policy(ctx, obj); err != nil {
			return err
		}
	}
	if may || byPolicy.may {
		*now.Granted = true
		return nil
	}
	writable, err := g.Writable(ctx, obj)
	if err != nil || writable {
		return err
	}
	if byPolicy.asked {
		return apierrors.NewForbidden(g.Resource, now.Name, fmt.Errorf(
			"spec.execution Follow runs contracts that somebody else's records ask for, and %s, set spec.execution to ObserveOnly, or give the AtprotoRepo access ReadWrite and credentials", byPolicy.remedy()))
	}
	return apierrors.NewForbidden(g.Resource, now.Name, fmt.Errorf(
		"spec.execution Follow runs contracts that somebody else's records ask for, and needs the verb %q on %s %q%s: have it granted, set spec.execution to ObserveOnly, or give the AtprotoRepo access ReadWrite and credentials",
		Verb, g.Resource, now.Name, why))
}

// may asks for the verb, and for the reason where it is refused.
func (g Gate) may(ctx context.Context, name string) (may bool, why string, err error) {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return false, "", nil
	}
	decision, reason, err := g.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: Verb, Name: name, ResourceRequest: true,
		APIGroup: g.Resource.Group, APIVersion: v1alpha1.SchemeGroupVersion.Version, Resource: g.Resource.Resource,
	})
	if decision == authorizer.DecisionAllow {
		return true, "", nil
	}
	if reason != "" {
		reason = " (" + reason + ")"
	}
	return false, reason, err
}
