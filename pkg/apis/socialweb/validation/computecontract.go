package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ValidateComputeContractCreate checks a ComputeContract that is to be created.
func ValidateComputeContractCreate(c *socialweb.ComputeContract) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateComputeContractSpec(&c.Spec, field.NewPath("spec"))...)
}

// ValidateComputeContractUpdate checks an update of a ComputeContract's metadata and
// spec. What was asked for stays, since a fulfiller may act on it already; it can be
// given back, once.
func ValidateComputeContractUpdate(c, old *socialweb.ComputeContract) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("spec")
	for _, f := range computeContractFields(&c.Spec, &old.Spec) {
		if !equality.Semantic.DeepEqual(f.now, f.was) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.shown(), "can't change: what was asked for stays, set spec.release to give it back and create another ComputeContract"))
		}
	}
	if old.Spec.Release && !c.Spec.Release {
		errs = append(errs, field.Invalid(path.Child("release"), false, "can't go back to false: the contract is being given back, create another ComputeContract"))
	}
	return errs
}

// specField is one field of a spec before and after an update.
type specField struct {
	name     string
	now, was any
	// hidden: the value isn't repeated, somebody may have pasted a secret.
	hidden bool
}

func (f specField) shown() any {
	if f.hidden {
		return "(not shown)"
	}
	return shorten(inWords(f.now))
}

// computeContractFields are the fields that can't change, which is all but release.
func computeContractFields(now, was *socialweb.ComputeContractSpec) []specField {
	return []specField{
		{name: "vmName", now: now.VMName, was: was.VMName},
		{name: "bidderDids", now: now.BidderDIDs, was: was.BidderDIDs},
		{name: "denyBidderDids", now: now.DenyBidderDIDs, was: was.DenyBidderDIDs},
		{name: "sshAuthorizedKeys", now: now.SSHAuthorizedKeys, was: was.SSHAuthorizedKeys, hidden: true},
		{name: "userData", now: now.UserData, was: was.UserData, hidden: true},
		{name: "policy", now: now.Policy, was: was.Policy},
		{name: "policyArgs", now: now.PolicyArgs, was: was.PolicyArgs},
		{name: "vmReadyTimeoutSec", now: now.VMReadyTimeoutSec, was: was.VMReadyTimeoutSec},
		{name: "secretsRef", now: now.SecretsRef, was: was.SecretsRef},
		{name: "resources", now: now.Resources, was: was.Resources},
		{name: "image", now: now.Image, was: was.Image},
		{name: "ttlSecondsAfterFinished", now: now.TTLSecondsAfterFinished, was: was.TTLSecondsAfterFinished},
	}
}

func validateComputeContractSpec(spec *socialweb.ComputeContractSpec, path *field.Path) field.ErrorList {
	errs := validateRequest(requestOf(spec), path)
	if ref := spec.SecretsRef; ref != nil {
		errs = append(errs, validateSecretReference(*ref, path.Child("secretsRef"))...)
	}
	if r := spec.Resources; r != nil {
		at := path.Child("resources")
		errs = append(errs, validateQuantity(r.CPU, cpuBounds, at.Child("cpu"))...)
		errs = append(errs, validateQuantity(r.Memory, memoryBounds, at.Child("memory"))...)
		errs = append(errs, validateQuantity(r.Storage, storageBounds, at.Child("storage"))...)
	}
	errs = append(errs, validateLength(spec.Image, MaxImage, path.Child("image"))...)
	if t := spec.TTLSecondsAfterFinished; t != nil && (*t < 0 || *t > MaxTTLSeconds) {
		errs = append(errs, field.Invalid(path.Child("ttlSecondsAfterFinished"), *t, "must be 0 to 315360000 seconds: leave it out to keep the object until somebody deletes it"))
	}
	if len(errs) == 0 {
		errs = validateRequestSize(requestOf(spec), path)
	}
	return errs
}

// requestOf is the part of the spec that a deployment's contract has too.
func requestOf(spec *socialweb.ComputeContractSpec) *socialweb.Contract {
	return &socialweb.Contract{
		VMName: spec.VMName, BidderDIDs: spec.BidderDIDs, DenyBidderDIDs: spec.DenyBidderDIDs,
		SSHAuthorizedKeys: spec.SSHAuthorizedKeys, UserData: spec.UserData,
		Policy: spec.Policy, PolicyArgs: spec.PolicyArgs, VMReadyTimeoutSec: spec.VMReadyTimeoutSec,
	}
}

// bounds of a quantity, both included.
type bounds struct{ least, most resource.Quantity }

var (
	cpuBounds     = bounds{resource.MustParse("1m"), resource.MustParse("4096")}
	memoryBounds  = bounds{resource.MustParse("1Mi"), resource.MustParse("64Ti")}
	storageBounds = bounds{resource.MustParse("1Mi"), resource.MustParse("1Pi")}
)

// validateQuantity checks a quantity that may be absent.
func validateQuantity(q *resource.Quantity, b bounds, path *field.Path) field.ErrorList {
	if q == nil || (q.Cmp(b.least) >= 0 && q.Cmp(b.most) <= 0) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.String(), fmt.Sprintf("must be %s to %s: leave it out for the fulfiller's own choice", b.least.String(), b.most.String()))}
}
