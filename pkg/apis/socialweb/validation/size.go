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

// validateDeclarationSize bounds the declaration as a whole: every field may be
// within its bound and the record still too large for its PDS.
func validateDeclarationSize(spec *socialweb.InfraSpec, path *field.Path) field.ErrorList {
	contracts := make([]wireContract, len(spec.Contracts))
	for i := range spec.Contracts {
		c := &spec.Contracts[i]
		contracts[i] = wireContract{
			Name: c.Name, State: string(c.State), VMName: c.VMName,
			BidderDIDs: c.BidderDIDs, DenyBidderDIDs: c.DenyBidderDIDs,
			SSHAuthorizedKeys: c.SSHAuthorizedKeys, UserData: c.UserData,
			Policy: c.Policy, PolicyArgs: c.PolicyArgs, VMReadyTimeoutSec: c.VMReadyTimeoutSec,
		}
	}
	return validateSize(path, MaxDeclarationBytes, "the declaration",
		"split the deployment, or shorten userData, keys and lists", spec.Description, contracts)
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
