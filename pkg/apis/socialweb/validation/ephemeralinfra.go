package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ValidateEphemeralInfraCreate checks an EphemeralInfra that is to be created,
// with its defaults set.
func ValidateEphemeralInfraCreate(infra *socialweb.EphemeralInfra) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&infra.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	spec := field.NewPath("spec")
	errs = append(errs, ValidateEphemeralDeclaration(&infra.Spec, spec)...)
	return append(errs, validatePrivateSpec(&infra.Spec.InfraSpec, nil, nil, lexicons.EphemeralInfra, spec)...)
}

// ValidateEphemeralInfraUpdate checks an update of an EphemeralInfra's metadata
// and spec.
func ValidateEphemeralInfraUpdate(infra, old *socialweb.EphemeralInfra) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&infra.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	spec := field.NewPath("spec")
	if !sameEphemeralDeclaration(&infra.Spec, &old.Spec) {
		errs = append(errs, ValidateEphemeralDeclaration(&infra.Spec, spec)...)
	}
	return append(errs, validatePrivateSpec(&infra.Spec.InfraSpec, &old.Spec.InfraSpec, old.Status.Record, lexicons.EphemeralInfra, spec)...)
}

// endReasons are the values of endReason.
var endReasons = []socialweb.EndReason{socialweb.EndedComplete, socialweb.EndedDeadline}

// ValidateEphemeralInfraStatusUpdate checks a write of an EphemeralInfra's
// status. The deadline and the end are facts: once written, they don't change.
func ValidateEphemeralInfraStatusUpdate(infra, old *socialweb.EphemeralInfra) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&infra.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("status")
	now, was := &infra.Status, &old.Status
	errs = append(errs, validateInfraStatus(&now.InfraStatus, ephemeralPhases, path)...)
	if was.ExpiresAt != nil && !equality.Semantic.DeepEqual(now.ExpiresAt, was.ExpiresAt) {
		errs = append(errs, field.Invalid(path.Child("expiresAt"), now.ExpiresAt, fmt.Sprintf("can't change from %s once it is set: keep it", was.ExpiresAt)))
	}
	if was.EndedAt != nil && !equality.Semantic.DeepEqual(now.EndedAt, was.EndedAt) {
		errs = append(errs, field.Invalid(path.Child("endedAt"), now.EndedAt, fmt.Sprintf("can't change from %s once it is set: keep it", was.EndedAt)))
	}
	reason := path.Child("endReason")
	switch {
	case now.EndReason != "":
		errs = append(errs, validateEnum(now.EndReason, endReasons, reason)...)
		if now.EndedAt == nil {
			errs = append(errs, field.Required(path.Child("endedAt"), "say when the deployment ended, or remove endReason"))
		}
	case now.EndedAt != nil:
		errs = append(errs, field.Required(reason, "say why the deployment ended: Complete or Deadline"))
	}
	if was.EndReason != "" && now.EndReason != was.EndReason {
		errs = append(errs, field.Invalid(reason, now.EndReason, fmt.Sprintf("can't change from %s once it is set: keep it", was.EndReason)))
	}
	return errs
}
