package lifecycle

import (
	"encoding/json"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A status that the API doesn't take is recorded by no part, and nothing is released
// that isn't recorded. So nothing that others say may make one: a fulfiller whose
// ComputeContracts another server has taken unchecked, bidders with long names, an
// account that declares other contracts again and again.

const (
	// maxRequests is how many ComputeContracts a deployment has at once, those that are
	// still being released counted: as many as it may declare. Together with what it
	// declares its status never lists more than it may.
	maxRequests = 128
	// maxStatusBytes bounds what a status says of all contracts, in bytes of JSON.
	maxStatusBytes = 300_000
	// maxDID and maxURI bound one of them, in bytes.
	maxDID = 2048
	maxURI = 8192
)

// admissible leaves out of a contract's status what the API would not take.
func admissible(s v1alpha1.ContractStatus) v1alpha1.ContractStatus {
	if _, err := syntax.ParseDID(s.Winner); err != nil || len(s.Winner) > maxDID {
		s.Winner = ""
	}
	if !isRecord(s.Receipt) {
		s.Receipt = ""
	}
	s.Message = bounded(s.Message)
	return s
}

func isRecord(uri string) bool {
	u, err := syntax.ParseATURI(uri)
	if err != nil || len(uri) > maxURI {
		return false
	}
	_, err = u.Authority().AsDID()
	return err == nil && u.Collection() != "" && u.RecordKey() != ""
}

// nameable tells whether a contract may have the name. That of a label, or of a
// record's status, may be no contract's.
func nameable(name string) bool { return len(content.IsDNS1123Label(name)) == 0 }

// fit shortens what is too long together: words go first, then receipts, then winners.
func fit(contracts []v1alpha1.ContractStatus) {
	for _, leaveOut := range []func(*v1alpha1.ContractStatus){
		func(s *v1alpha1.ContractStatus) { s.Message = "" },
		func(s *v1alpha1.ContractStatus) { s.Receipt = "" },
		func(s *v1alpha1.ContractStatus) { s.Winner = "" },
	} {
		if b, err := json.Marshal(contracts); err == nil && len(b) <= maxStatusBytes {
			return
		}
		for i := range contracts {
			leaveOut(&contracts[i])
		}
	}
}
