package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

const (
	receiptURI = "at://" + bob + "/com.example.receipt/1"
	aCID       = "bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm"
)

// contractStatus is a status of the phase that uses every field that it may.
func contractStatus(phase socialweb.ComputeContractPhase) socialweb.ComputeContractStatus {
	s := socialweb.ComputeContractStatus{
		ObservedGeneration: 1, Phase: phase, Winner: bob, Receipt: &socialweb.ContractReceipt{URI: receiptURI, CID: aCID},
		Endpoint: "192.0.2.7:22", Message: "up",
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Up", LastTransitionTime: *at(0)}},
	}
	if rank := phase.Rank(); rank > 0 {
		s.RequestedAt = at(1)
		if rank > 1 {
			s.HeldAt = at(2)
		}
		if phase.Finished() {
			s.FinishedAt = at(3)
		}
	}
	return s
}

func TestValidateComputeContractStatusUpdate(t *testing.T) {
	type status = socialweb.ComputeContractStatus
	cases := []struct {
		name   string
		phase  socialweb.ComputeContractPhase
		change func(*status)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", socialweb.ComputeHeld, func(*status) {}, "", ""},
		{"bare", socialweb.ComputePending, func(s *status) { *s = status{Phase: socialweb.ComputePending} }, "", ""},
		{"negative generation", socialweb.ComputeHeld, func(s *status) { s.ObservedGeneration = -1 }, field.ErrorTypeInvalid, "status.observedGeneration"},
		{"no phase", socialweb.ComputeHeld, func(s *status) { s.Phase = "" }, field.ErrorTypeNotSupported, "status.phase"},
		{"unknown phase", socialweb.ComputeHeld, func(s *status) { s.Phase = "Deployed" }, field.ErrorTypeNotSupported, "status.phase"},
		{"winner a handle", socialweb.ComputeHeld, func(s *status) { s.Winner = "bob.example.com" }, field.ErrorTypeInvalid, "status.winner"},
		{"another winner", socialweb.ComputeHeld, func(s *status) { s.Winner = alice }, "", ""},
		{"receipt without a uri", socialweb.ComputeHeld, func(s *status) { s.Receipt.URI = "" }, field.ErrorTypeRequired, "status.receipt.uri"},
		{"receipt a web address", socialweb.ComputeHeld, func(s *status) { s.Receipt.URI = "https://x" }, field.ErrorTypeInvalid, "status.receipt.uri"},
		{"receipt without a CID", socialweb.ComputeHeld, func(s *status) { s.Receipt.CID = "" }, "", ""},
		{"receipt no CID", socialweb.ComputeHeld, func(s *status) { s.Receipt.CID = "xyz" }, field.ErrorTypeInvalid, "status.receipt.cid"},
		{"endpoint too long", socialweb.ComputeHeld, func(s *status) { s.Endpoint = long(MaxEndpoint + 1) }, field.ErrorTypeTooLong, "status.endpoint"},
		{"message too long", socialweb.ComputeHeld, func(s *status) { s.Message = long(MaxMessage + 1) }, field.ErrorTypeTooLong, "status.message"},
		{"condition without a reason", socialweb.ComputeHeld, func(s *status) { s.Conditions[0].Reason = "" }, field.ErrorTypeRequired, "status.conditions[0].reason"},
		{"requested at another time", socialweb.ComputeHeld, func(s *status) { s.RequestedAt = at(9) }, field.ErrorTypeInvalid, "status.requestedAt"},
		{"never held", socialweb.ComputeHeld, func(s *status) { s.HeldAt = nil }, field.ErrorTypeInvalid, "status.heldAt"},
		{"finished before its time", socialweb.ComputeHeld, func(s *status) { s.FinishedAt = at(9) }, field.ErrorTypeInvalid, "status.finishedAt"},
		{"requested before its time", socialweb.ComputePending, func(s *status) { s.RequestedAt = at(9) }, field.ErrorTypeInvalid, "status.requestedAt"},
		{"finished: message and endpoint", socialweb.ComputeFailed, func(s *status) { s.Message, s.Endpoint = "x", "" }, "", ""},
		{"finished: another outcome", socialweb.ComputeFailed, func(s *status) { s.Phase = socialweb.ComputeReleased }, field.ErrorTypeInvalid, "status.phase"},
		{"finished: another winner", socialweb.ComputeReleased, func(s *status) { s.Winner = alice }, field.ErrorTypeInvalid, "status.winner"},
		{"finished: no winner", socialweb.ComputeReleased, func(s *status) { s.Winner = "" }, field.ErrorTypeInvalid, "status.winner"},
		{"finished: another receipt", socialweb.ComputeReleased, func(s *status) { s.Receipt.CID = "" }, field.ErrorTypeInvalid, "status.receipt"},
		{"finished: no receipt", socialweb.ComputeReleased, func(s *status) { s.Receipt = nil }, field.ErrorTypeInvalid, "status.receipt"},
		{"finished at another time", socialweb.ComputeReleased, func(s *status) { s.FinishedAt = at(9) }, field.ErrorTypeInvalid, "status.finishedAt"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newContract(), newContract()
			old.Status, now.Status = contractStatus(tc.phase), contractStatus(tc.phase)
			tc.change(&now.Status)
			want(t, ValidateComputeContractStatusUpdate(now, old), tc.kind, tc.path)
		})
	}
}

// The phase goes on, also over some, and never back; what is finished stays.
func TestPhaseOrder(t *testing.T) {
	order := computePhases[:5]
	may := func(from, to socialweb.ComputeContractPhase) bool {
		switch {
		case from == to:
			return true
		case from.Finished():
			return false
		case to == socialweb.ComputeFailed:
			return true
		}
		for _, p := range order {
			if p == from {
				return true
			}
			if p == to {
				return false
			}
		}
		return false
	}
	for _, from := range computePhases {
		for _, to := range computePhases {
			old, now := newContract(), newContract()
			old.Status, now.Status = socialweb.ComputeContractStatus{Phase: from}, socialweb.ComputeContractStatus{Phase: to}
			errs := ValidateComputeContractStatusUpdate(now, old)
			if (len(errs) == 0) != may(from, to) {
				t.Errorf("%s to %s: %v", from, to, errs)
			}
			for _, e := range errs {
				if e.Field != "status.phase" || !strings.Contains(e.Error(), string(from)) || !strings.Contains(e.Error(), string(to)) {
					t.Errorf("%s to %s: %v", from, to, e)
				}
			}
		}
	}
}
