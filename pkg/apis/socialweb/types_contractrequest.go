package socialweb

import "k8s.io/apimachinery/pkg/types"

// ContractRequest is the controller's own memory of a ComputeContract: which one
// stands for a contract, from before it is created until after it is gone. It is
// never published.
type ContractRequest struct {
	// contract is the name of the contract in spec.contracts.
	Contract string
	// computeContract is the name of the ComputeContract.
	ComputeContract string
	// uid of the ComputeContract. Empty: it may not have been created yet.
	UID types.UID
	// superseded says that the contract was staged or dropped since: the
	// ComputeContract is released, goes once it is finished, and the contract can
	// then be requested anew.
	Superseded bool
}
