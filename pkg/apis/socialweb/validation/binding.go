package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// deletionPolicies are the values of deletionPolicy.
var deletionPolicies = []socialweb.DeletionPolicy{socialweb.DeletionDelete, socialweb.DeletionRetain}

// validateBinding checks spec.record; collection is the kind's.
func validateBinding(b *socialweb.RecordBinding, collection string, path *field.Path) field.ErrorList {
	if b == nil {
		return nil
	}
	errs := validateSubdomain(b.RepoRef.Name, path.Child("repoRef", "name"))
	if b.URI != "" {
		errs = append(errs, validateRecordURI(b.URI, collection, path.Child("uri"))...)
	}
	return append(errs, validateEnum(b.DeletionPolicy, deletionPolicies, path.Child("deletionPolicy"))...)
}

// validateBindingUpdate keeps a bound object at its record. Removing the binding
// is an unbind and binding it again is free; moving it in one step is neither.
// status is the old object's: a uri may be written down once the record that the
// object has is known, if it is that one.
func validateBindingUpdate(now, old *socialweb.RecordBinding, status *socialweb.RecordStatus, path *field.Path) field.ErrorList {
	if now == nil || old == nil {
		return nil
	}
	const remedy = "unbind the object first (remove spec.record), then bind it anew"
	var errs field.ErrorList
	if now.RepoRef != old.RepoRef {
		errs = append(errs, field.Invalid(path.Child("repoRef", "name"), now.RepoRef.Name,
			fmt.Sprintf("can't change from %q while the object is bound: %s", old.RepoRef.Name, remedy)))
	}
	uri := path.Child("uri")
	switch {
	case now.URI == old.URI:
	case old.URI != "":
		errs = append(errs, field.Invalid(uri, shorten(now.URI), fmt.Sprintf("can't change from %q once it is set: %s", old.URI, remedy)))
	case status == nil || status.URI != now.URI:
		errs = append(errs, field.Invalid(uri, shorten(now.URI), "isn't the record that the object is bound to: "+remedy))
	}
	return errs
}

// validateSecrets checks spec.secrets against the contracts. old is the spec
// before an update, nil on create: a secret that was left behind when an edit of
// the record dropped its contract stands until somebody removes it.
func validateSecrets(spec, old *socialweb.InfraSpec, path *field.Path) field.ErrorList {
	if len(spec.Secrets) > MaxContractStatuses {
		return field.ErrorList{field.TooMany(path, len(spec.Secrets), MaxContractStatuses)}
	}
	declared := func(s *socialweb.InfraSpec, name string) bool {
		return slices.ContainsFunc(s.Contracts, func(c socialweb.Contract) bool { return c.Name == name })
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(spec.Secrets))
	for i, secret := range spec.Secrets {
		at := path.Index(i)
		errs = append(errs, validateSecretReference(secret.SecretRef, at.Child("secretRef"))...)
		contract := at.Child("contract")
		switch {
		case secret.Contract == "":
			errs = append(errs, field.Required(contract, "name the contract that the secret is for"))
		case seen[secret.Contract]:
			errs = append(errs, field.Duplicate(contract, shorten(secret.Contract)))
		case declared(spec, secret.Contract):
		case old != nil && slices.Contains(old.Secrets, secret) && !declared(old, secret.Contract):
		default:
			errs = append(errs, field.Invalid(contract, shorten(secret.Contract), "there is no such contract in spec.contracts: declare it, or remove the secret"))
		}
		seen[secret.Contract] = true
	}
	return errs
}

// validateSecretReference checks the name of a Secret.
func validateSecretReference(ref socialweb.SecretReference, path *field.Path) field.ErrorList {
	errs := validateSubdomain(ref.Name, path.Child("name"))
	if ref.Namespace != "" {
		errs = append(errs, validateLabel(ref.Namespace, path.Child("namespace"))...)
	}
	return errs
}
