package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentPhase sums up the phases of a deployment's contracts.
// +enum
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

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Infra is a deployment: a set of contracts for compute that are declared,
// requested and released together. Its declaration is a record of the collection
// computer.socialweb.infra, which either side may edit.
type Infra struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is wanted. Its description and contracts are the declaration
	// and are published in the record.
	// +optional
	Spec InfraSpec `json:"spec,omitempty"`
	// status is what was observed. Its phase and contracts are published in the
	// record.
	// +optional
	Status InfraStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraList is a list of Infras.
type InfraList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []Infra `json:"items"`
}

// InfraSpec is what is wanted of a deployment.
type InfraSpec struct {
	// description for people, at most 4096 bytes. Published in the record.
	// +optional
	Description string `json:"description,omitempty"`
	// contracts of the deployment, at most 128, with unique names. Published in
	// the record. A server-side apply owns and replaces the whole list; a strategic
	// merge patch, as a client-side apply sends it, merges by name. Together with
	// the description they may take 400,000 bytes of JSON.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=atomic
	Contracts []Contract `json:"contracts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// secrets name a Secret for each contract that needs one. They are never
	// published.
	// +optional
	// +patchMergeKey=contract
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=contract
	Secrets []ContractSecret `json:"secrets,omitempty" patchStrategy:"merge" patchMergeKey:"contract"`
	// record binds the object to a record. Absent at creation: the workspace's
	// default repository, if there is one. Removing it later unbinds the object:
	// the record stays, and the object lives on without it.
	// +optional
	Record *RecordBinding `json:"record,omitempty"`
}

// InfraStatus is what was observed of a deployment.
type InfraStatus struct {
	// observedGeneration is the metadata.generation that the controller acted on
	// last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase sums up the contracts: Staged, Deploying, Deployed, Releasing,
	// Released, Degraded, Ending or Deleting. Published in the record.
	// +optional
	Phase DeploymentPhase `json:"phase,omitempty"`
	// contracts is what became of each contract. Published in the record.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Contracts []ContractStatus `json:"contracts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// requests are the ComputeContracts that stand for the contracts. Not published.
	// +optional
	// +patchMergeKey=contract
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=contract
	Requests []ContractRequest `json:"requests,omitempty" patchStrategy:"merge" patchMergeKey:"contract"`
	// conditions of the object: Ready, RecordValid, SyncConflict and
	// StatusContested among others.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// record is what the server knows of the object's record. Only the server
	// writes it.
	// +optional
	Record *RecordStatus `json:"record,omitempty"`
}
