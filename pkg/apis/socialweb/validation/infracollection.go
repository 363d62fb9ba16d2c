package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ValidateInfraCollectionCreate checks an InfraCollection that is to be created, with
// its defaults set.
func ValidateInfraCollectionCreate(c *socialweb.InfraCollection) field.ErrorList {
	return validateCollectionCreate(&c.ObjectMeta, &c.Spec)
}

// ValidateInfraCollectionUpdate checks an update of an InfraCollection's metadata and
// spec.
func ValidateInfraCollectionUpdate(c, old *socialweb.InfraCollection) field.ErrorList {
	return validateCollectionUpdate(&c.ObjectMeta, &old.ObjectMeta, &c.Spec, &old.Spec)
}

// ValidateInfraCollectionStatusUpdate checks a write of an InfraCollection's status.
func ValidateInfraCollectionStatusUpdate(c, old *socialweb.InfraCollection) field.ErrorList {
	return validateCollectionStatusUpdate(&c.ObjectMeta, &old.ObjectMeta, &c.Status, lexicons.Infra)
}

// ValidateEphemeralInfraCollectionCreate checks an EphemeralInfraCollection that is to
// be created, with its defaults set.
func ValidateEphemeralInfraCollectionCreate(c *socialweb.EphemeralInfraCollection) field.ErrorList {
	return validateCollectionCreate(&c.ObjectMeta, &c.Spec)
}

// ValidateEphemeralInfraCollectionUpdate checks an update of an
// EphemeralInfraCollection's metadata and spec.
func ValidateEphemeralInfraCollectionUpdate(c, old *socialweb.EphemeralInfraCollection) field.ErrorList {
	return validateCollectionUpdate(&c.ObjectMeta, &old.ObjectMeta, &c.Spec, &old.Spec)
}

// ValidateEphemeralInfraCollectionStatusUpdate checks a write of an
// EphemeralInfraCollection's status.
func ValidateEphemeralInfraCollectionStatusUpdate(c, old *socialweb.EphemeralInfraCollection) field.ErrorList {
	return validateCollectionStatusUpdate(&c.ObjectMeta, &old.ObjectMeta, &c.Status, lexicons.EphemeralInfra)
}

func validateCollectionCreate(m *metav1.ObjectMeta, spec *socialweb.InfraCollectionSpec) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(m, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	path := field.NewPath("spec")
	errs = append(errs, validateSubdomain(spec.RepoRef.Name, path.Child("repoRef", "name"))...)
	return append(errs, validateCollectionSpec(spec, path)...)
}

// validateCollectionUpdate keeps a collection at its repository: its children are that
// one's records.
func validateCollectionUpdate(m, old *metav1.ObjectMeta, spec, was *socialweb.InfraCollectionSpec) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata"))
	path := field.NewPath("spec")
	if spec.RepoRef != was.RepoRef {
		errs = append(errs, field.Invalid(path.Child("repoRef", "name"), shorten(spec.RepoRef.Name),
			fmt.Sprintf("can't change from %q: create another collection for another repository", was.RepoRef.Name)))
	}
	if !equality.Semantic.DeepEqual(spec, was) {
		errs = append(errs, validateCollectionSpec(spec, path)...)
	}
	return errs
}

// validateCollectionSpec checks what may change of a collection.
func validateCollectionSpec(spec *socialweb.InfraCollectionSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Execution != "" {
		errs = append(errs, validateEnum(spec.Execution, executionPolicies, path.Child("execution"))...)
	}
	switch n := spec.MaxItems; {
	case n == nil:
		errs = append(errs, field.Required(path.Child("maxItems"), "say how many records are served at most, 1 to 10000"))
	case *n < 1 || *n > MaxCollectionItems:
		errs = append(errs, field.Invalid(path.Child("maxItems"), *n, "must be 1 to 10000: leave it out for 1000"))
	}
	return errs
}

// validateCollectionStatusUpdate checks a status; collection is that of the records.
func validateCollectionStatusUpdate(m, old *metav1.ObjectMeta, s *socialweb.InfraCollectionStatus, collection string) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata"))
	path := field.NewPath("status")
	errs = append(errs, validateNotNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, validateNotNegative(s.Items, path.Child("items"))...)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	return append(errs, validateChildren(s.Children, collection, path.Child("children"))...)
}

// validateChildren checks status.children.
func validateChildren(children []socialweb.CollectionChild, collection string, path *field.Path) field.ErrorList {
	if len(children) > MaxCollectionItems {
		return field.ErrorList{field.TooMany(path, len(children), MaxCollectionItems)}
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(children))
	for i := range children {
		c, at := &children[i], path.Index(i)
		if c.URI == "" {
			errs = append(errs, field.Required(at.Child("uri"), "give the at-uri of the record"))
			continue
		}
		errs = append(errs, validateRecordURI(c.URI, collection, at.Child("uri"))...)
		if seen[c.URI] {
			errs = append(errs, field.Duplicate(at.Child("uri"), shorten(c.URI)))
		}
		seen[c.URI] = true
		errs = append(errs, validateChild(c, at)...)
	}
	if len(errs) == 0 {
		errs = validateChildrenSize(children, path)
	}
	return errs
}

// validateChild checks what a child says of its object.
func validateChild(c *socialweb.CollectionChild, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name != "" {
		errs = append(errs, validateSubdomain(c.Name, path.Child("name"))...)
	}
	if c.CID != "" {
		errs = append(errs, validateCID(c.CID, path.Child("cid"))...)
	}
	if c.BoundBy != "" {
		errs = append(errs, validateSubdomain(c.BoundBy, path.Child("boundBy"))...)
	}
	if c.Conflict != "" {
		errs = append(errs, validateEnum(c.Conflict, []socialweb.ChildConflict{socialweb.NameConflict}, path.Child("conflict"))...)
	}
	return errs
}
