package validation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// goodStatus is a status that uses every field.
func goodStatus() socialweb.InfraStatus {
	return socialweb.InfraStatus{
		ObservedGeneration: 3,
		Phase:              socialweb.PhaseDeploying,
		Contracts: []socialweb.ContractStatus{
			{Name: "front", Phase: socialweb.ContractPhaseDeployed, Winner: bob, Receipt: "at://" + bob + "/com.example.receipt/1", Message: "up"},
			{Name: "gone", Phase: socialweb.ContractPhaseReleasing},
		},
		Requests: []socialweb.ContractRequest{
			{Contract: "front", ComputeContract: "infra-web-front", UID: "8f4e", Superseded: true},
			{Contract: "back", ComputeContract: "infra-web-back"},
		},
		Conditions: []metav1.Condition{{
			Type: socialweb.ConditionSyncConflict, Status: metav1.ConditionTrue, Reason: socialweb.ReasonRecordWon, LastTransitionTime: *at(0),
		}},
		Record: &socialweb.RecordStatus{
			URI: ownURI, CID: "bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm", Rev: "3jzfcijpj2z2a",
			DeclarationHash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			Direction:       socialweb.DirectionPushed, SyncedAt: at(0),
		},
	}
}

func TestValidateInfraStatusUpdate(t *testing.T) {
	type status = socialweb.InfraStatus
	cases := []struct {
		name   string
		change func(*status)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", func(*status) {}, "", ""},
		{"empty", func(s *status) { *s = status{} }, "", ""},
		{"negative generation", func(s *status) { s.ObservedGeneration = -1 }, field.ErrorTypeInvalid, "status.observedGeneration"},
		{"unknown phase", func(s *status) { s.Phase = "Running" }, field.ErrorTypeNotSupported, "status.phase"},
		{"an Infra doesn't end", func(s *status) { s.Phase = socialweb.PhaseEnding }, field.ErrorTypeNotSupported, "status.phase"},
		{"contract without a name", func(s *status) { s.Contracts[0].Name = "" }, field.ErrorTypeRequired, "status.contracts[0].name"},
		{"contract twice", func(s *status) { s.Contracts[1].Name = "front" }, field.ErrorTypeDuplicate, "status.contracts[1].name"},
		{"contract without a phase", func(s *status) { s.Contracts[0].Phase = "" }, field.ErrorTypeNotSupported, "status.contracts[0].phase"},
		{"unknown contract phase", func(s *status) { s.Contracts[0].Phase = "Held" }, field.ErrorTypeNotSupported, "status.contracts[0].phase"},
		{"winner a handle", func(s *status) { s.Contracts[0].Winner = "bob.example.com" }, field.ErrorTypeInvalid, "status.contracts[0].winner"},
		{"receipt a web address", func(s *status) { s.Contracts[0].Receipt = "https://x" }, field.ErrorTypeInvalid, "status.contracts[0].receipt"},
		{"message too long", func(s *status) { s.Contracts[0].Message = long(1025) }, field.ErrorTypeTooLong, "status.contracts[0].message"},
		{"too many contracts", func(s *status) { s.Contracts = make([]socialweb.ContractStatus, 257) }, field.ErrorTypeTooMany, "status.contracts"},
		{"too large", func(s *status) {
			s.Contracts = nil
			for _, c := range contracts(128, "") {
				s.Contracts = append(s.Contracts, socialweb.ContractStatus{Name: c.Name, Phase: socialweb.ContractPhaseDeployed, Winner: "did:web:" + long(2000), Message: long(1024)})
			}
		}, field.ErrorTypeInvalid, "status.contracts"},
		{"request without a contract", func(s *status) { s.Requests[1].Contract = "" }, field.ErrorTypeRequired, "status.requests[1].contract"},
		{"request of no contract's name", func(s *status) { s.Requests[1].Contract = "A" }, field.ErrorTypeInvalid, "status.requests[1].contract"},
		{"request twice", func(s *status) { s.Requests[1].Contract = "front" }, field.ErrorTypeDuplicate, "status.requests[1].contract"},
		{"request without a name", func(s *status) { s.Requests[0].ComputeContract = "" }, field.ErrorTypeRequired, "status.requests[0].computeContract"},
		{"request of a name that is none", func(s *status) { s.Requests[0].ComputeContract = "a_b" }, field.ErrorTypeInvalid, "status.requests[0].computeContract"},
		{"request's uid too long", func(s *status) { s.Requests[0].UID = types.UID(long(129)) }, field.ErrorTypeTooLong, "status.requests[0].uid"},
		{"too many requests", func(s *status) { s.Requests = make([]socialweb.ContractRequest, 257) }, field.ErrorTypeTooMany, "status.requests"},
		{"condition without a reason", func(s *status) { s.Conditions[0].Reason = "" }, field.ErrorTypeRequired, "status.conditions[0].reason"},
		{"condition twice", func(s *status) { s.Conditions = append(s.Conditions, s.Conditions[0]) }, field.ErrorTypeDuplicate, "status.conditions[1]"},
		{"too many conditions", func(s *status) { s.Conditions = make([]metav1.Condition, 33) }, field.ErrorTypeTooMany, "status.conditions"},
		{"record no uri", func(s *status) { s.Record.URI = "web" }, field.ErrorTypeInvalid, "status.record.uri"},
		{"record no CID", func(s *status) { s.Record.CID = "xyz" }, field.ErrorTypeInvalid, "status.record.cid"},
		{"record no rev", func(s *status) { s.Record.Rev = "7" }, field.ErrorTypeInvalid, "status.record.rev"},
		{"record no hash", func(s *status) { s.Record.DeclarationHash = "ABC" }, field.ErrorTypeInvalid, "status.record.declarationHash"},
		{"record unknown direction", func(s *status) { s.Record.Direction = "Sideways" }, field.ErrorTypeNotSupported, "status.record.direction"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			infra := newInfra(t)
			infra.Status = goodStatus()
			tc.change(&infra.Status)
			want(t, ValidateInfraStatusUpdate(infra, newInfra(t)), tc.kind, tc.path)
		})
	}
}
