package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// computePhases are the phases of a ComputeContract.
var computePhases = []socialweb.ComputeContractPhase{
	socialweb.ComputePending, socialweb.ComputeRequesting, socialweb.ComputeHeld,
	socialweb.ComputeReleasing, socialweb.ComputeReleased, socialweb.ComputeFailed,
}

// ValidateComputeContractStatusUpdate checks a write of a ComputeContract's status.
// The phase never goes back, and how it ended is a fact.
func ValidateComputeContractStatusUpdate(c, old *socialweb.ComputeContract) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path, s := field.NewPath("status"), &c.Status
	errs = append(errs, validateNotNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	if s.Winner != "" {
		errs = append(errs, validateDID(s.Winner, path.Child("winner"))...)
	}
	errs = append(errs, validateReceipt(s.Receipt, path.Child("receipt"))...)
	errs = append(errs, validateLength(s.Endpoint, MaxEndpoint, path.Child("endpoint"))...)
	errs = append(errs, validateLength(s.Message, MaxMessage, path.Child("message"))...)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	if bad := validateEnum(s.Phase, computePhases, path.Child("phase")); bad != nil {
		return append(errs, bad...)
	}
	if bad := validatePhaseOrder(s, &old.Status, path); bad != nil {
		return append(errs, bad...) // the times would be reported for the same reason
	}
	return append(errs, validatePhaseTimes(s, &old.Status, path)...)
}

// validateReceipt checks a receipt that may be absent.
func validateReceipt(r *socialweb.ContractReceipt, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := validateReceiptURI(r.URI, path.Child("uri"))
	if r.CID != "" {
		errs = append(errs, validateCID(r.CID, path.Child("cid"))...)
	}
	return errs
}

func validateReceiptURI(uri string, path *field.Path) field.ErrorList {
	if uri == "" {
		return field.ErrorList{field.Required(path, "give the at-uri of the record, or leave the receipt out")}
	}
	return validateRecordURI(uri, "", path)
}

// validatePhaseOrder keeps the phase from going back, and the outcome as it is.
func validatePhaseOrder(now, was *socialweb.ComputeContractStatus, path *field.Path) field.ErrorList {
	if !was.Phase.Finished() {
		if now.Phase.Rank() >= was.Phase.Rank() {
			return nil
		}
		return field.ErrorList{field.Invalid(path.Child("phase"), now.Phase, fmt.Sprintf("can't go back from %s: read the contract again and go on from there", was.Phase))}
	}
	const remedy = "the contract is finished, create another ComputeContract"
	var errs field.ErrorList
	if now.Phase != was.Phase {
		errs = append(errs, field.Invalid(path.Child("phase"), now.Phase, fmt.Sprintf("can't change from %s: %s", was.Phase, remedy)))
	}
	if now.Winner != was.Winner {
		errs = append(errs, field.Invalid(path.Child("winner"), shorten(now.Winner), fmt.Sprintf("can't change from %q: %s", was.Winner, remedy)))
	}
	if !equality.Semantic.DeepEqual(now.Receipt, was.Receipt) {
		errs = append(errs, field.Invalid(path.Child("receipt"), shorten(inWords(now.Receipt)), fmt.Sprintf("can't change from %s: %s", inWords(was.Receipt), remedy)))
	}
	return errs
}

// validatePhaseTimes keeps the times as they are once set, and none before its
// phase.
func validatePhaseTimes(now, was *socialweb.ComputeContractStatus, path *field.Path) field.ErrorList {
	rank := now.Phase.Rank()
	var errs field.ErrorList
	for _, t := range []struct {
		name     string
		now, was *metav1.Time
		from     socialweb.ComputeContractPhase
	}{
		{"requestedAt", now.RequestedAt, was.RequestedAt, socialweb.ComputeRequesting},
		{"heldAt", now.HeldAt, was.HeldAt, socialweb.ComputeHeld},
		{"finishedAt", now.FinishedAt, was.FinishedAt, socialweb.ComputeReleased},
	} {
		at := path.Child(t.name)
		switch {
		case t.was != nil && !t.now.Equal(t.was):
			errs = append(errs, field.Invalid(at, inWords(t.now), fmt.Sprintf("can't change from %s once it is set: leave it out", inWords(t.was))))
		case t.now != nil && rank < t.from.Rank():
			errs = append(errs, field.Invalid(at, inWords(t.now), fmt.Sprintf("is before its time, the phase is %s: leave it out, the server sets it", now.Phase)))
		}
	}
	return errs
}
