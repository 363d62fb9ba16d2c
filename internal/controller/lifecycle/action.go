package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Verb is what an Action does.
type Verb string

const (
	// Create applies a ComputeContract, never by force.
	Create Verb = "Create"
	// Release sets spec.release of a ComputeContract.
	Release Verb = "Release"
	// Delete deletes a ComputeContract of that uid.
	Delete Verb = "Delete"
	// Forget takes the finalizer off a ComputeContract that has finished and is
	// being deleted.
	Forget Verb = "Forget"
	// LetGo takes the finalizer off the deployment.
	LetGo Verb = "LetGo"
	// End deletes the deployment of that uid.
	End Verb = "End"
	// Hold puts the finalizer on the deployment. It is no Action: it comes before the
	// status.
	Hold Verb = "Hold"
)

// Action is something to be done once the next status is written.
type Action struct {
	// Do says what.
	Do Verb
	// Name of the ComputeContract; "" for LetGo and End.
	Name string
	// UID of the ComputeContract; "" for Create.
	UID types.UID
	// Contract that it stands for.
	Contract string
	// Spec to create.
	Spec *v1alpha1.ComputeContractSpec
	// Confirm says that the deployment must be what it was read as: where no status
	// has been written by this decision, one is written unchanged.
	Confirm bool
	// Seen is the ComputeContract as it was seen, for Forget.
	Seen *v1alpha1.ComputeContract
}
