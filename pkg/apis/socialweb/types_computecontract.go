package socialweb

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ComputeContractPhase is how far a ComputeContract has come.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ComputeContract asks for one guest. A fulfiller takes it on by moving its phase
// from Pending to Requesting, with the resourceVersion that it read, finds a bidder
// and reports what became of it in the status.
type ComputeContract struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is asked for. It can't change, but for release.
	Spec ComputeContractSpec
	// status is what became of it. The fulfiller writes it.
	Status ComputeContractStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ComputeContractList is a list of ComputeContracts.
type ComputeContractList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []ComputeContract
}

// ComputeContractSpec is what is asked for. The fields up to vmReadyTimeoutSec are
// those of a deployment's contract, with the same bounds.
type ComputeContractSpec struct {
	// vmName is the name that the guest shall have, at most 253 bytes: a DNS-1123
	// subdomain.
	VMName string
	// bidderDids are the accounts (DIDs) whose bids are considered. Empty: anyone's.
	// At most 64, each at most 2048 bytes, none twice.
	BidderDIDs []string
	// denyBidderDids are the accounts (DIDs) whose bids are refused. At most 64,
	// each at most 2048 bytes, none twice, none that is in bidderDids.
	DenyBidderDIDs []string
	// sshAuthorizedKeys are public keys, in the form of a line of an
	// authorized_keys file, that may log in to the guest. At most 64, each at most
	// 8192 bytes.
	SSHAuthorizedKeys []string
	// userData is handed to the guest at its first start (cloud-init), at most
	// 16384 bytes.
	UserData string
	// policy is the name of the policy that chooses among the bids, at most 253
	// bytes. Empty: the fulfiller's own.
	Policy string
	// policyArgs are the arguments of the policy, in order: at most 64 strings,
	// each at most 1024 bytes.
	PolicyArgs []string
	// vmReadyTimeoutSec is how long the guest may take to become ready, in
	// seconds, 1 to 86400. Absent: the fulfiller's own limit.
	VMReadyTimeoutSec *int32
	// secretsRef names the Secret whose data the guest gets.
	SecretsRef *SecretReference
	// resources that the guest needs. Absent, in whole or in part: the fulfiller's
	// own choice.
	Resources *ComputeResources
	// image that the guest starts from, at most 2048 bytes. Empty: the fulfiller's
	// own.
	Image string
	// release gives the contract back. Once true it stays true.
	Release bool
	// ttlSecondsAfterFinished is how long the object stays after it was Released or
	// has Failed, in seconds, 0 to 315360000. Absent: until somebody deletes it.
	TTLSecondsAfterFinished *int32
}

// ComputeResources are what a guest needs.
type ComputeResources struct {
	// cpu cores, 1m to 4096.
	CPU *resource.Quantity
	// memory in bytes, 1Mi to 64Ti.
	Memory *resource.Quantity
	// storage in bytes, 1Mi to 1Pi.
	Storage *resource.Quantity
}

// ComputeContractStatus is what became of a contract.
type ComputeContractStatus struct {
	// observedGeneration is the metadata.generation that the fulfiller acted on
	// last.
	ObservedGeneration int64
	// phase of the contract: Pending, Requesting, Held, Releasing, Released or
	// Failed. It never goes back, and Released and Failed are final.
	Phase ComputeContractPhase
	// winner is the account (DID) of the bidder that holds the contract.
	Winner string
	// receipt is the record in which the bidder confirms the contract.
	Receipt *ContractReceipt
	// endpoint at which the guest is reached, at most 2048 bytes.
	Endpoint string
	// message says in words what the phase doesn't, at most 1024 bytes. Nothing
	// secret belongs in it: it is published in the deployment's record.
	Message string
	// requestedAt is when a fulfiller took the contract on.
	RequestedAt *metav1.Time
	// heldAt is when a bidder began to hold it.
	HeldAt *metav1.Time
	// finishedAt is when it was Released or had Failed.
	FinishedAt *metav1.Time
	// conditions of the contract. WorkspaceBound is the companion controller's.
	Conditions []metav1.Condition
}

// ContractReceipt is the record in which a bidder confirms a contract.
type ContractReceipt struct {
	// uri is the record's at-uri.
	URI string
	// cid is the content identifier of the record as it was confirmed.
	CID string
}
