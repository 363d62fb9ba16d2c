package socialweb

// ContractState is what the composer wants of a contract.
type ContractState string

const (
	// ContractStaged declares a contract without asking for it: no
	// ComputeContract exists and no request for proposals is sent.
	ContractStaged ContractState = "Staged"
	// ContractRequested asks for the contract: a ComputeContract exists for it.
	ContractRequested ContractState = "Requested"
	// ContractReleased gives the contract back.
	ContractReleased ContractState = "Released"
)

// ContractPhase is what became of a contract.
type ContractPhase string

const (
	// ContractPhaseStaged says that the contract is declared only.
	ContractPhaseStaged ContractPhase = "Staged"
	// ContractPhaseRequesting says that a bidder is being looked for.
	ContractPhaseRequesting ContractPhase = "Requesting"
	// ContractPhaseDeployed says that a bidder holds the contract.
	ContractPhaseDeployed ContractPhase = "Deployed"
	// ContractPhaseReleasing says that the contract is being given back.
	ContractPhaseReleasing ContractPhase = "Releasing"
	// ContractPhaseReleased says that the contract was given back. It is final
	// until the contract is staged again.
	ContractPhaseReleased ContractPhase = "Released"
	// ContractPhaseFailed says that no bidder fulfilled the contract. It is final
	// until the contract is staged again.
	ContractPhaseFailed ContractPhase = "Failed"
)

// Contract declares one contract of a deployment. All of it is published in the
// record: nothing secret belongs here, see spec.secrets.
type Contract struct {
	// name of the contract, unique within the deployment: a DNS-1123 label (lower
	// case letters, digits and '-', at most 63 characters).
	Name string
	// state that is wanted: Staged (the default) declares the contract and sends
	// nothing, Requested looks for a bidder, Released gives the contract back.
	State ContractState
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
	// 16384 bytes. It is public: everybody can read it in the record.
	UserData string
	// policy is the name of the policy that chooses among the bids, at most 253
	// bytes. Empty: the fulfiller's own.
	Policy string
	// policyArgs are the arguments of the policy, in order: at most 64 strings,
	// each at most 1024 bytes. What they mean is the policy's affair.
	PolicyArgs []string
	// vmReadyTimeoutSec is how long the guest may take to become ready, in
	// seconds, 1 to 86400. Absent: the fulfiller's own limit.
	VMReadyTimeoutSec *int32
}

// ContractStatus is what became of one declared contract. It is published in the
// record.
type ContractStatus struct {
	// name of the contract in spec.contracts.
	Name string
	// phase of the contract: Staged, Requesting, Deployed, Releasing, Released or
	// Failed.
	Phase ContractPhase
	// winner is the account (DID) of the bidder that holds the contract.
	Winner string
	// receipt is the at-uri of the record in which the bidder confirms the
	// contract.
	Receipt string
	// message says in words what the phase doesn't, at most 1024 bytes. Nothing
	// secret belongs in it.
	Message string
}

// ContractSecret names the Secret of one contract. It is never published.
type ContractSecret struct {
	// contract is the name of the contract in spec.contracts.
	Contract string
	// secretRef is the Secret whose data the guest gets.
	SecretRef SecretReference
}

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	Name string
	// namespace of the Secret. Empty: the fulfiller's own namespace.
	Namespace string
}
