package validation

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// wireContract has the field names of the record, so that the size is that of
// what is sent.
type wireContract struct {
	Name              string   `json:"name"`
	State             string   `json:"state"`
	VMName            string   `json:"vmName,omitempty"`
	BidderDIDs        []string `json:"bidderDids,omitempty"`
	DenyBidderDIDs    []string `json:"denyBidderDids,omitempty"`
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
	UserData          string   `json:"userData,omitempty"`
	Policy            string   `json:"policy,omitempty"`
	PolicyArgs        []string `json:"policyArgs,omitempty"`
	VMReadyTimeoutSec *int32   `json:"vmReadyTimeoutSec,omitempty"`
}

// wireContractStatus is the same for a contract's status.
type wireContractStatus struct {
	Name    string `json:"name"`
	Phase   string `json:"phase"`
	Winner  string `json:"winner,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	Message string `json:"message,omitempty"`
}

// wireChild is the same for a child of a collection.
type wireChild struct {
	URI      string `json:"uri"`
	Name     string `json:"name,omitempty"`
	CID      string `json:"cid,omitempty"`
	BoundBy  string `json:"boundBy,omitempty"`
	Conflict string `json:"conflict,omitempty"`
}

// validateDeclarationSize bounds the declaration as a whole: every field may be
// within its bound and the record still too large for its PDS.
func validateDeclarationSize(spec *socialweb.InfraSpec, path *field.Path) field.ErrorList {
	contracts := make([]wireContract, len(spec.Contracts))
	for i := range spec.Contracts {
		contracts[i] = wireOf(&spec.Contracts[i])
	}
	return validateSize(path, MaxDeclarationBytes, "the declaration",
		"split the deployment, or shorten userData, keys and lists", spec.Description, contracts)
}

// validateRequestSize bounds what a ComputeContract asks for as a deployment's
// declaration is bounded.
func validateRequestSize(c *socialweb.Contract, path *field.Path) field.ErrorList {
	return validateSize(path, MaxDeclarationBytes, "what is asked for", "shorten userData, keys and lists", wireOf(c))
}

func wireOf(c *socialweb.Contract) wireContract {
	return wireContract{
		Name: c.Name, State: string(c.State), VMName: c.VMName,
		BidderDIDs: c.BidderDIDs, DenyBidderDIDs: c.DenyBidderDIDs,
		SSHAuthorizedKeys: c.SSHAuthorizedKeys, UserData: c.UserData,
		Policy: c.Policy, PolicyArgs: c.PolicyArgs, VMReadyTimeoutSec: c.VMReadyTimeoutSec,
	}
}

// validateStatusSize bounds status.contracts as a whole.
func validateStatusSize(contracts []socialweb.ContractStatus, path *field.Path) field.ErrorList {
	wire := make([]wireContractStatus, len(contracts))
	for i, c := range contracts {
		wire[i] = wireContractStatus{
			Name: c.Name, Phase: string(c.Phase), Winner: c.Winner, Receipt: c.Receipt, Message: c.Message,
		}
	}
	return validateSize(path, MaxStatusBytes, "the status", "shorten the messages", wire)
}

// validateChildrenSize bounds status.children as a whole: maxItems of them may be more
// than etcd takes.
func validateChildrenSize(children []socialweb.CollectionChild, path *field.Path) field.ErrorList {
	wire := make([]wireChild, len(children))
	for i, c := range children {
		wire[i] = wireChild{URI: c.URI, Name: c.Name, CID: c.CID, BoundBy: c.BoundBy, Conflict: string(c.Conflict)}
	}
	return validateSize(path, MaxChildrenBytes, "the list", "list fewer children, items counts them all", wire)
}

// validateSize adds up the JSON of the parts, in the longest form that Go writes
// (with <, > and & escaped), and compares it with the limit.
func validateSize(path *field.Path, limit int, what, remedy string, parts ...any) field.ErrorList {
	size := 0
	for _, part := range parts {
		raw, err := json.Marshal(part)
		if err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
		size += len(raw)
	}
	if size <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, fmt.Sprintf("(%d bytes)", size),
		fmt.Sprintf("%s takes %d bytes of JSON, %d are allowed: %s", what, size, limit, remedy))}
}
