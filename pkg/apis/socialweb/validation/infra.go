package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ValidateInfraCreate checks an Infra that is to be created, with its defaults
// set.
func ValidateInfraCreate(infra *socialweb.Infra) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&infra.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	spec := field.NewPath("spec")
	errs = append(errs, ValidateDeclaration(&infra.Spec, spec)...)
	return append(errs, validatePrivateSpec(&infra.Spec, nil, nil, lexicons.Infra, spec)...)
}

// ValidateInfraUpdate checks an update of an Infra's metadata and spec.
func ValidateInfraUpdate(infra, old *socialweb.Infra) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&infra.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	spec := field.NewPath("spec")
	if !sameDeclaration(&infra.Spec, &old.Spec) {
		errs = append(errs, ValidateDeclaration(&infra.Spec, spec)...)
	}
	return append(errs, validatePrivateSpec(&infra.Spec, &old.Spec, old.Status.Record, lexicons.Infra, spec)...)
}

// ValidateInfraStatusUpdate checks a write of an Infra's status.
func ValidateInfraStatusUpdate(infra, old *socialweb.Infra) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&infra.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, validateInfraStatus(&infra.Status, infraPhases, field.NewPath("status"))...)
}

// validatePrivateSpec checks what a spec has beside its declaration: secrets and
// the record binding. old and status are nil on create.
func validatePrivateSpec(spec, old *socialweb.InfraSpec, status *socialweb.RecordStatus, collection string, path *field.Path) field.ErrorList {
	errs := validateSecrets(spec, old, path.Child("secrets"))
	record := path.Child("record")
	errs = append(errs, validateBinding(spec.Record, collection, record)...)
	if old != nil {
		errs = append(errs, validateBindingUpdate(spec.Record, old.Record, status, record)...)
	}
	return errs
}
