package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// API is what a server is asked and told. Nothing of it is answered by a cache. Errors
// are those of the API machinery: what isn't there is NotFound.
type API interface {
	// Deployment reads one.
	Deployment(ctx context.Context, k Key) (*lifecycle.Deployment, error)
	// UpdateStatus writes the status of a deployment, provided that it has the
	// resourceVersion that is given: else it is a Conflict. It returns what is there
	// then. A status that is the same already is a proof of the resourceVersion.
	UpdateStatus(ctx context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error)
	// Hold puts the finalizer on a deployment of the given resourceVersion, and returns
	// what is there then.
	Hold(ctx context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error)
	// LetGo takes the finalizer off a deployment of the given resourceVersion.
	LetGo(ctx context.Context, d *lifecycle.Deployment) error
	// End deletes a deployment of the given uid.
	End(ctx context.Context, d *lifecycle.Deployment) error

	// Contract reads a ComputeContract.
	Contract(ctx context.Context, workspace, name string) (*v1alpha1.ComputeContract, error)
	// ContractsOf lists those that have the labels of a deployment. Some may belong to
	// another owner.
	ContractsOf(ctx context.Context, d *lifecycle.Deployment) ([]*v1alpha1.ComputeContract, error)
	// Create applies a ComputeContract for a deployment, not by force. Where another
	// owner has the name it is a Conflict or Invalid.
	Create(ctx context.Context, d *lifecycle.Deployment, a *lifecycle.Action) error
	// Release sets spec.release of a ComputeContract of the given uid.
	Release(ctx context.Context, workspace, name string, uid types.UID) error
	// Delete deletes a ComputeContract of the given uid.
	Delete(ctx context.Context, workspace, name string, uid types.UID) error
	// Withdraw makes a ComputeContract Released, provided that it has the
	// resourceVersion that is given.
	Withdraw(ctx context.Context, c *v1alpha1.ComputeContract) error
	// Tell writes the conditions of a ComputeContract, provided that it has the
	// resourceVersion that is given.
	Tell(ctx context.Context, c *v1alpha1.ComputeContract, conditions []metav1.Condition) error
	// Free takes the finalizer off a ComputeContract of the given resourceVersion.
	Free(ctx context.Context, c *v1alpha1.ComputeContract) error
}

// Cache is what has been seen. It may be behind by any time. What it returns is not
// to be changed; nil: it has none.
type Cache interface {
	// Deployment of a key.
	Deployment(k Key) *lifecycle.Deployment
	// Contract of a key.
	Contract(k Key) *v1alpha1.ComputeContract
	// ContractsOf are those that a deployment of the uid controls.
	ContractsOf(owner types.UID) []*v1alpha1.ComputeContract
	// Repo is an AtprotoRepo.
	Repo(workspace, name string) *v1alpha1.AtprotoRepo
	// Collection is an InfraCollection, or an EphemeralInfraCollection for the kind
	// EphemeralInfra.
	Collection(kind, workspace, name string) *lifecycle.Collection
}
