package validation

import (
	"regexp"

	"github.com/bluesky-social/indigo/atproto/syntax"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// infraPhases are the phases of an Infra; "" is one that nothing was observed of.
var infraPhases = []socialweb.DeploymentPhase{
	"", socialweb.PhaseStaged, socialweb.PhaseDeploying, socialweb.PhaseDeployed, socialweb.PhaseReleasing,
	socialweb.PhaseReleased, socialweb.PhaseDegraded, socialweb.PhaseDeleting,
}

// ephemeralPhases are those of an EphemeralInfra, which can end.
var ephemeralPhases = append([]socialweb.DeploymentPhase{socialweb.PhaseEnding}, infraPhases...)

// contractPhases are the phases of a contract.
var contractPhases = []socialweb.ContractPhase{
	socialweb.ContractPhaseStaged, socialweb.ContractPhaseRequesting, socialweb.ContractPhaseDeployed,
	socialweb.ContractPhaseReleasing, socialweb.ContractPhaseReleased, socialweb.ContractPhaseFailed,
}

// directions are the values of status.record.direction.
var directions = []socialweb.SyncDirection{
	socialweb.DirectionCreated, socialweb.DirectionPushed, socialweb.DirectionPulled, socialweb.DirectionInSync,
}

// validateInfraStatus checks the status that both kinds of deployment have.
func validateInfraStatus(status *socialweb.InfraStatus, phases []socialweb.DeploymentPhase, path *field.Path) field.ErrorList {
	errs := validateNotNegative(status.ObservedGeneration, path.Child("observedGeneration"))
	errs = append(errs, validateEnum(status.Phase, phases, path.Child("phase"))...)
	errs = append(errs, validateContractStatuses(status.Contracts, path.Child("contracts"))...)
	errs = append(errs, validateRequests(status.Requests, path.Child("requests"))...)
	errs = append(errs, validateConditions(status.Conditions, path.Child("conditions"))...)
	return append(errs, validateRecordStatus(status.Record, path.Child("record"))...)
}

// validateContractStatuses checks status.contracts.
func validateContractStatuses(contracts []socialweb.ContractStatus, path *field.Path) field.ErrorList {
	if len(contracts) > MaxContractStatuses {
		return field.ErrorList{field.TooMany(path, len(contracts), MaxContractStatuses)}
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(contracts))
	for i, c := range contracts {
		at := path.Index(i)
		errs = append(errs, validateLabel(c.Name, at.Child("name"))...)
		if c.Name != "" && seen[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), shorten(c.Name)))
		}
		seen[c.Name] = true
		errs = append(errs, validateEnum(c.Phase, contractPhases, at.Child("phase"))...)
		if c.Winner != "" {
			errs = append(errs, validateDID(c.Winner, at.Child("winner"))...)
		}
		if c.Receipt != "" {
			errs = append(errs, validateRecordURI(c.Receipt, "", at.Child("receipt"))...)
		}
		errs = append(errs, validateLength(c.Message, MaxMessage, at.Child("message"))...)
	}
	if len(errs) == 0 {
		errs = append(errs, validateStatusSize(contracts, path)...)
	}
	return errs
}

// validateRequests checks status.requests.
func validateRequests(requests []socialweb.ContractRequest, path *field.Path) field.ErrorList {
	if len(requests) > MaxContractStatuses {
		return field.ErrorList{field.TooMany(path, len(requests), MaxContractStatuses)}
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(requests))
	for i, r := range requests {
		at := path.Index(i)
		errs = append(errs, validateLabel(r.Contract, at.Child("contract"))...)
		if r.Contract != "" && seen[r.Contract] {
			errs = append(errs, field.Duplicate(at.Child("contract"), shorten(r.Contract)))
		}
		seen[r.Contract] = true
		errs = append(errs, validateSubdomain(r.ComputeContract, at.Child("computeContract"))...)
		errs = append(errs, validateLength(string(r.UID), MaxUID, at.Child("uid"))...)
	}
	return errs
}

// validateConditions checks conditions and bounds their number.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	if len(conditions) > MaxConditions {
		return field.ErrorList{field.TooMany(path, len(conditions), MaxConditions)}
	}
	return metav1validation.ValidateConditions(conditions, path)
}

// declarationHash is a sha256 in hex.
var declarationHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// validateRecordStatus checks status.record.
func validateRecordStatus(r *socialweb.RecordStatus, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if r.URI != "" {
		errs = append(errs, validateRecordURI(r.URI, "", path.Child("uri"))...)
	}
	if r.CID != "" {
		errs = append(errs, validateCID(r.CID, path.Child("cid"))...)
	}
	errs = append(errs, validateRev(r.Rev, path.Child("rev"))...)
	if r.DeclarationHash != "" && !declarationHash.MatchString(r.DeclarationHash) {
		errs = append(errs, field.Invalid(path.Child("declarationHash"), shorten(r.DeclarationHash), "not a sha256: 64 lower case hexadecimal digits"))
	}
	if r.Direction != "" {
		errs = append(errs, validateEnum(r.Direction, directions, path.Child("direction"))...)
	}
	return errs
}

// validateRev checks a repository revision, which is a TID.
func validateRev(rev string, path *field.Path) field.ErrorList {
	if rev == "" {
		return nil
	}
	if _, err := syntax.ParseTID(rev); err != nil {
		return field.ErrorList{field.Invalid(path, shorten(rev), "not a repository revision: 13 characters like 3jzfcijpj2z2a")}
	}
	return nil
}

// validateNotNegative checks a counter.
func validateNotNegative(value int64, path *field.Path) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, "must not be negative")}
	}
	return nil
}
