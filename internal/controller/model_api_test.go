package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// errCrash is what the calls of a controller that was killed come to.
var errCrash = errors.New("crashed")

// fate of a call.
type fate int

const (
	works  fate = iota
	fails       // nothing happens, and it fails
	lost        // it happens, and its answer is lost
	denied      // nothing happens, and the API won't have it
)

// steppedAPI is the world to one controller. Before each call it stops, until the
// schedule lets it go on.
type steppedAPI struct {
	*world
	// pause stops and tells what will be called; false: the controller is dead.
	pause func(call string) bool
	// next is the fate of the call that it stops at.
	next fate
	dead bool
	// proven is the resourceVersion that the deployment was last shown to have.
	proven string
	// saw is what the decision knew of the workspace.
	saw lifecycle.Workspace
	// wasRefused anything.
	wasRefused bool
}

var _ API = (*steppedAPI)(nil)

// denial says something else each time.
func (a *steppedAPI) denial(name string) error {
	a.refusals++
	return apierrors.NewForbidden(contractsResource, name, fmt.Errorf("a policy denied the request: n%s", strings.Repeat("o", a.refusals%9)))
}

// call is what all calls have in common. do changes nothing where it fails.
func (a *steppedAPI) call(name string, do func() error) error {
	if a.dead || !a.pause(name) {
		a.dead = true
		return errCrash
	}
	f := a.next
	a.next = works
	if f == fails {
		return apierrors.NewServiceUnavailable("the API is away")
	}
	err := a.denial(name)
	if read := strings.HasPrefix(name, "get ") || strings.HasPrefix(name, "list "); f != denied || read || strings.HasPrefix(name, "status ") {
		err = do()
	}
	a.wasRefused = a.wasRefused || len(refusalsOf("", "", err)) > 0
	if f == lost && err == nil {
		return apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return err
}

func (a *steppedAPI) Deployment(_ context.Context, k Key) (out *lifecycle.Deployment, err error) {
	err = a.call("get "+k.String(), func() error {
		if out = a.at().deployments[k]; out == nil {
			return apierrors.NewNotFound(deploymentsResource, k.Name)
		}
		return nil
	})
	return out, err
}

// current is what is there, if it is what was read.
func (a *steppedAPI) current(d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	is := a.at().deployments[keyOfDeployment(d)]
	switch {
	case is == nil:
		return nil, apierrors.NewNotFound(deploymentsResource, d.Name)
	case is.UID != d.UID || is.ResourceVersion != d.ResourceVersion:
		return nil, apierrors.NewConflict(deploymentsResource, d.Name, errors.New("it has changed"))
	}
	return is, nil
}

func (a *steppedAPI) UpdateStatus(_ context.Context, d *lifecycle.Deployment) (out *lifecycle.Deployment, err error) {
	err = a.call("status "+d.Name, func() error {
		is, err := a.current(d)
		if err != nil {
			return err
		}
		if out = is; !equality.Semantic.DeepEqual(is.Status, d.Status) {
			next := copyDeployment(is)
			next.Status = copyDeployment(d).Status
			a.laws.workspaceWritten(is, next, a.saw)
			a.laws.refusalWritten(is, next, a.wasRefused)
			out = a.putDeployment(next)
		}
		a.proven = out.ResourceVersion
		return nil
	})
	return out, err
}

func (a *steppedAPI) Hold(_ context.Context, d *lifecycle.Deployment) (out *lifecycle.Deployment, err error) {
	err = a.call("hold "+d.Name, func() error {
		is, err := a.current(d)
		if err != nil {
			return err
		}
		if is.DeletionTimestamp != nil {
			return apierrors.NewInvalid(contractsKind, d.Name, nil)
		}
		next := copyDeployment(is)
		next.Finalizers = append(next.Finalizers, v1alpha1.FinalizerRelease)
		out = a.putDeployment(next)
		return nil
	})
	return out, err
}

func (a *steppedAPI) LetGo(_ context.Context, d *lifecycle.Deployment) error {
	return a.call("let go "+d.Name, func() error {
		is, err := a.current(d)
		if err != nil {
			return err
		}
		next := copyDeployment(is)
		next.Finalizers = withoutOurs(next.Finalizers)
		a.putDeployment(next)
		return nil
	})
}

func (a *steppedAPI) End(_ context.Context, d *lifecycle.Deployment) error {
	return a.call("end "+d.Name, func() error {
		k := keyOfDeployment(d)
		is := a.at().deployments[k]
		if is == nil || is.UID != d.UID {
			return apierrors.NewNotFound(deploymentsResource, d.Name)
		}
		a.laws.endedItself(is)
		a.deleteDeployment(k)
		return nil
	})
}

func (a *steppedAPI) Contract(_ context.Context, _, name string) (out *v1alpha1.ComputeContract, err error) {
	err = a.call("get "+name, func() error {
		if out = a.at().contracts[name]; out == nil {
			return apierrors.NewNotFound(contractsResource, name)
		}
		return nil
	})
	return out, err
}

func (a *steppedAPI) ContractsOf(_ context.Context, d *lifecycle.Deployment) (out []*v1alpha1.ComputeContract, err error) {
	err = a.call("list of "+d.Name, func() error {
		for _, name := range a.at().names() {
			if cc := a.at().contracts[name]; cc.Labels[v1alpha1.LabelName] == d.Name && cc.Labels[v1alpha1.LabelKind] == d.Kind {
				out = append(out, cc)
			}
		}
		return nil
	})
	return out, err
}

func (a *steppedAPI) Create(_ context.Context, d *lifecycle.Deployment, act *lifecycle.Action) error {
	return a.call("apply "+act.Name, func() error {
		if a.proven != d.ResourceVersion {
			a.laws.fail("L10: %s is applied for %s as it was at %s", act.Name, d.Name, d.ResourceVersion)
		}
		return a.apply(d, act)
	})
}

// changeContract of a uid, if it is there.
func (a *steppedAPI) changeContract(what, name string, uid types.UID, rv string, change func(*v1alpha1.ComputeContract)) error {
	return a.call(what+" "+name, func() error {
		cc := a.at().contracts[name]
		switch {
		case cc == nil:
			return apierrors.NewNotFound(contractsResource, name)
		case cc.UID != uid || rv != "" && cc.ResourceVersion != rv:
			return apierrors.NewConflict(contractsResource, name, errors.New("it has changed"))
		}
		cc = cc.DeepCopy()
		change(cc)
		if !equality.Semantic.DeepEqual(cc, a.at().contracts[name]) {
			a.putContract(cc)
		}
		return nil
	})
}

func (a *steppedAPI) Release(_ context.Context, _, name string, uid types.UID) error {
	return a.changeContract("release", name, uid, "", func(cc *v1alpha1.ComputeContract) {
		a.laws.released(cc)
		cc.Spec.Release = true
	})
}

func (a *steppedAPI) Delete(_ context.Context, _, name string, uid types.UID) error {
	return a.changeContract("delete", name, uid, "", func(cc *v1alpha1.ComputeContract) {
		a.laws.deleted(cc)
		if cc.DeletionTimestamp == nil {
			cc.DeletionTimestamp = a.time()
		}
	})
}

func (a *steppedAPI) Withdraw(_ context.Context, cc *v1alpha1.ComputeContract) error {
	return a.changeContract("withdraw", cc.Name, cc.UID, cc.ResourceVersion, func(cc *v1alpha1.ComputeContract) {
		a.laws.withdrawn(cc)
		cc.Status.Phase = v1alpha1.ComputeReleased
	})
}

func (a *steppedAPI) Tell(_ context.Context, cc *v1alpha1.ComputeContract, conditions []metav1.Condition) error {
	return a.changeContract("tell", cc.Name, cc.UID, cc.ResourceVersion, func(cc *v1alpha1.ComputeContract) {
		cc.Status.Conditions = conditions
	})
}

func (a *steppedAPI) Free(_ context.Context, cc *v1alpha1.ComputeContract) error {
	return a.changeContract("free", cc.Name, cc.UID, cc.ResourceVersion, func(cc *v1alpha1.ComputeContract) {
		cc.Finalizers = withoutOurs(cc.Finalizers)
	})
}

// laggingCache shows each kind as it was at some version.
type laggingCache struct {
	*world
	deploymentsAt, contractsAt, repoAt int
}

var _ Cache = (*laggingCache)(nil)

func (c *laggingCache) Deployment(k Key) *lifecycle.Deployment {
	return c.versions[c.deploymentsAt].deployments[k]
}

func (c *laggingCache) Contract(k Key) *v1alpha1.ComputeContract {
	return c.versions[c.contractsAt].contracts[k.Name]
}

func (c *laggingCache) ContractsOf(owner types.UID) (out []*v1alpha1.ComputeContract) {
	v := c.versions[c.contractsAt]
	for _, name := range v.names() {
		if lifecycle.HolderUID(v.contracts[name]) == owner {
			out = append(out, v.contracts[name])
		}
	}
	return out
}

func (c *laggingCache) Repo(_, name string) *v1alpha1.AtprotoRepo {
	if r := c.versions[c.repoAt].repo; r.Name == name {
		return r
	}
	return nil
}

func (*laggingCache) Collection(string, string, string) *lifecycle.Collection { return nil }

func (c *laggingCache) catchUp() {
	c.deploymentsAt = len(c.versions) - 1
	c.contractsAt, c.repoAt = c.deploymentsAt, c.deploymentsAt
}

// keys that the controller may have been woken for.
func (c *laggingCache) keys() []Key {
	var out []Key
	for _, k := range c.versions[c.deploymentsAt].keys() {
		if k.Kind != kindContract {
			out = append(out, k)
		}
	}
	for _, k := range c.versions[c.contractsAt].keys() {
		if k.Kind == kindContract {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return out
}
