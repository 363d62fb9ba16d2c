package socialweb

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentPhase sums up the phases of a deployment's contracts.
type DeploymentPhase string

const (
	// PhaseStaged says that every contract is staged.
	PhaseStaged DeploymentPhase = "Staged"
	// PhaseDeploying says that a bidder is being looked for, for one contract at
	// least.
	PhaseDeploying DeploymentPhase = "Deploying"
	// PhaseDeployed says that every requested contract is deployed.
	PhaseDeployed DeploymentPhase = "Deployed"
	// PhaseReleasing says that contracts are being given back.
	PhaseReleasing DeploymentPhase = "Releasing"
	// PhaseReleased says that every contract was given back.
	PhaseReleased DeploymentPhase = "Released"
	// PhaseDegraded says that one contract at least failed.
	PhaseDegraded DeploymentPhase = "Degraded"
	// PhaseEnding says that an EphemeralInfra came to its end and gives its
	// contracts back.
	PhaseEnding DeploymentPhase = "Ending"
	// PhaseDeleting says that the object is being deleted and gives its contracts
	// back first.
	PhaseDeleting DeploymentPhase = "Deleting"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Infra is a deployment: a set of contracts for compute that are declared,
// requested and released together. Its declaration is a record of the collection
// computer.socialweb.infra, which either side may edit.
type Infra struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is wanted. Its description and contracts are the declaration
	// and are published in the record.
	Spec InfraSpec
	// status is what was observed. Its phase and contracts are published in the
	// record.
	Status InfraStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraList is a list of Infras.
type InfraList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []Infra
}

// InfraSpec is what is wanted of a deployment.
type InfraSpec struct {
	// description for people, at most 4096 bytes. Published in the record.
	Description string
	// contracts of the deployment, at most 128, with unique names. Published in
	// the record. An apply replaces the whole list. Together with the description
	// they may take 400,000 bytes of JSON.
	Contracts []Contract
	// secrets name a Secret for each contract that needs one. They are never
	// published.
	Secrets []ContractSecret
	// record binds the object to a record. Absent at creation: the workspace's
	// default repository, if there is one. Removing it later unbinds the object:
	// the record stays, and the object lives on without it.
	Record *RecordBinding
}

// InfraStatus is what was observed of a deployment.
type InfraStatus struct {
	// observedGeneration is the metadata.generation that the controller acted on
	// last.
	ObservedGeneration int64
	// phase sums up the contracts: Staged, Deploying, Deployed, Releasing,
	// Released, Degraded, Ending or Deleting. Published in the record.
	Phase DeploymentPhase
	// contracts is what became of each contract. Published in the record.
	Contracts []ContractStatus
	// requests are the ComputeContracts that stand for the contracts. Not published.
	Requests []ContractRequest
	// conditions of the object: Ready, RecordValid, SyncConflict and
	// StatusContested among others.
	Conditions []metav1.Condition
	// record is what the server knows of the object's record. Only the server
	// writes it.
	Record *RecordStatus
}
