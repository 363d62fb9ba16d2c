package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ValidateDeclaration checks the declaration of an Infra: description and
// contracts, the part that its record holds. Secrets and the record binding are
// not looked at. path is where the spec is, for the errors.
func ValidateDeclaration(spec *socialweb.InfraSpec, path *field.Path) field.ErrorList {
	errs := validateLength(spec.Description, MaxDescription, path.Child("description"))
	contracts := path.Child("contracts")
	if n := len(spec.Contracts); n > MaxContracts {
		// No look at the items: they may be very many.
		return append(errs, field.TooMany(contracts, n, MaxContracts))
	}
	seen := make(map[string]bool, len(spec.Contracts))
	for i := range spec.Contracts {
		c := &spec.Contracts[i]
		errs = append(errs, validateContract(c, contracts.Index(i))...)
		if c.Name != "" && seen[c.Name] {
			errs = append(errs, field.Duplicate(contracts.Index(i).Child("name"), shorten(c.Name)))
		}
		seen[c.Name] = true
	}
	if len(errs) == 0 {
		errs = append(errs, validateDeclarationSize(spec, contracts)...)
	}
	return errs
}

// endWhens are the values of endWhen.
var endWhens = []socialweb.EndWhen{socialweb.EndComplete, socialweb.EndDeadline}

// ValidateEphemeralDeclaration checks the declaration of an EphemeralInfra: that
// of an Infra, ttlSeconds and endWhen.
func ValidateEphemeralDeclaration(spec *socialweb.EphemeralInfraSpec, path *field.Path) field.ErrorList {
	errs := ValidateDeclaration(&spec.InfraSpec, path)
	ttl := path.Child("ttlSeconds")
	switch t := spec.TTLSeconds; {
	case t == nil:
		errs = append(errs, field.Required(ttl, "say how many seconds the deployment may live, 60 at least"))
	case *t < MinTTLSeconds || *t > MaxTTLSeconds:
		errs = append(errs, field.Invalid(ttl, *t, "must be 60 to 315360000 seconds"))
	}
	return append(errs, validateEnum(spec.EndWhen, endWhens, path.Child("endWhen"))...)
}

// sameDeclaration says whether an update leaves the declaration as it was.
func sameDeclaration(a, b *socialweb.InfraSpec) bool {
	return a.Description == b.Description && equality.Semantic.DeepEqual(a.Contracts, b.Contracts)
}

// sameEphemeralDeclaration is sameDeclaration of an EphemeralInfra.
func sameEphemeralDeclaration(a, b *socialweb.EphemeralInfraSpec) bool {
	return sameDeclaration(&a.InfraSpec, &b.InfraSpec) && a.EndWhen == b.EndWhen &&
		equality.Semantic.DeepEqual(a.TTLSeconds, b.TTLSeconds)
}
