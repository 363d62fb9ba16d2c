package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ComputeContractPhase is how far a ComputeContract has come.
// +enum
type ComputeContractPhase string

const (
	// ComputePending says that no fulfiller has taken the contract on.
	ComputePending ComputeContractPhase = "Pending"
	// ComputeRequesting says that a fulfiller looks for a bidder.
	ComputeRequesting ComputeContractPhase = "Requesting"
	// ComputeHeld says that a bidder holds the contract: the guest runs.
	ComputeHeld ComputeContractPhase = "Held"
	// ComputeReleasing says that the contract is being given back.
	ComputeReleasing ComputeContractPhase = "Releasing"
	// ComputeReleased says that the contract was given back, and that nothing of it
	// runs any more. It is final.
	ComputeReleased ComputeContractPhase = "Released"
	// ComputeFailed says that the contract was not fulfilled, and that nothing of it
	// runs. It is final.
	ComputeFailed ComputeContractPhase = "Failed"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ComputeContract asks for one guest. A fulfiller takes it on by moving its phase
// from Pending to Requesting, with the resourceVersion that it read, finds a bidder
// and reports what became of it in the status.
type ComputeContract struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is asked for. It can't change, but for release.
	// +optional
	Spec ComputeContractSpec `json:"spec,omitempty"`
	// status is what became of it. The fulfiller writes it.
	// +optional
	Status ComputeContractStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ComputeContractList is a list of ComputeContracts.
type ComputeContractList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []ComputeContract `json:"items"`
}

// ComputeContractSpec is what is asked for. The fields up to vmReadyTimeoutSec are
// those of a deployment's contract, with the same bounds.
type ComputeContractSpec struct {
	// vmName is the name that the guest shall have, at most 253 bytes: a DNS-1123
	// subdomain.
	// +optional
	VMName string `json:"vmName,omitempty"`
	// bidderDids are the accounts (DIDs) whose bids are considered. Empty: anyone's.
	// At most 64, each at most 2048 bytes, none twice.
	// +optional
	// +listType=atomic
	BidderDIDs []string `json:"bidderDids,omitempty"`
	// denyBidderDids are the accounts (DIDs) whose bids are refused. At most 64,
	// each at most 2048 bytes, none twice, none that is in bidderDids.
	// +optional
	// +listType=atomic
	DenyBidderDIDs []string `json:"denyBidderDids,omitempty"`
	// sshAuthorizedKeys are public keys, in the form of a line of an
	// authorized_keys file, that may log in to the guest. At most 64, each at most
	// 8192 bytes.
	// +optional
	// +listType=atomic
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
	// userData is handed to the guest at its first start (cloud-init), at most
	// 16384 bytes.
	// +optional
	UserData string `json:"userData,omitempty"`
	// policy is the name of the policy that chooses among the bids, at most 253
	// bytes. Empty: the fulfiller's own.
	// +optional
	Policy string `json:"policy,omitempty"`
	// policyArgs are the arguments of the policy, in order: at most 64 strings,
	// each at most 1024 bytes.
	// +optional
	// +listType=atomic
	PolicyArgs []string `json:"policyArgs,omitempty"`
	// vmReadyTimeoutSec is how long the guest may take to become ready, in
	// seconds, 1 to 86400. Absent: the fulfiller's own limit.
	// +optional
	VMReadyTimeoutSec *int32 `json:"vmReadyTimeoutSec,omitempty"`
	// secretsRef names the Secret whose data the guest gets.
	// +optional
	SecretsRef *SecretReference `json:"secretsRef,omitempty"`
	// resources that the guest needs. Absent, in whole or in part: the fulfiller's
	// own choice.
	// +optional
	Resources *ComputeResources `json:"resources,omitempty"`
	// image that the guest starts from, at most 2048 bytes. Empty: the fulfiller's
	// own.
	// +optional
	Image string `json:"image,omitempty"`
	// release gives the contract back. Once true it stays true.
	// +optional
	Release bool `json:"release,omitempty"`
	// ttlSecondsAfterFinished is how long the object stays after it was Released or
	// has Failed, in seconds, 0 to 315360000. Absent: until somebody deletes it.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ComputeResources are what a guest needs.
type ComputeResources struct {
	// cpu cores, 1m to 4096.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory in bytes, 1Mi to 64Ti.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// storage in bytes, 1Mi to 1Pi.
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
}

// ComputeContractStatus is what became of a contract.
type ComputeContractStatus struct {
	// observedGeneration is the metadata.generation that the fulfiller acted on
	// last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase of the contract: Pending, Requesting, Held, Releasing, Released or
	// Failed. It never goes back, and Released and Failed are final.
	// +optional
	Phase ComputeContractPhase `json:"phase,omitempty"`
	// winner is the account (DID) of the bidder that holds the contract.
	// +optional
	Winner string `json:"winner,omitempty"`
	// receipt is the record in which the bidder confirms the contract.
	// +optional
	Receipt *ContractReceipt `json:"receipt,omitempty"`
	// endpoint at which the guest is reached, at most 2048 bytes.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// message says in words what the phase doesn't, at most 1024 bytes. Nothing
	// secret belongs in it: it is published in the deployment's record.
	// +optional
	Message string `json:"message,omitempty"`
	// requestedAt is when a fulfiller took the contract on.
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// heldAt is when a bidder began to hold it.
	// +optional
	HeldAt *metav1.Time `json:"heldAt,omitempty"`
	// finishedAt is when it was Released or had Failed.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// conditions of the contract. WorkspaceBound is the companion controller's.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// ContractReceipt is the record in which a bidder confirms a contract.
type ContractReceipt struct {
	// uri is the record's at-uri.
	// +required
	URI string `json:"uri"`
	// cid is the content identifier of the record as it was confirmed.
	// +optional
	CID string `json:"cid,omitempty"`
}
