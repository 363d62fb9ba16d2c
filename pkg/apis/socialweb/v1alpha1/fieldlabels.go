package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// addFieldLabelConversions admits the one field selector that the kinds offer:
// metadata.name. Anything else is a 400 that names the field.
func addFieldLabelConversions(scheme *runtime.Scheme) error {
	for _, kind := range []string{"Infra", "EphemeralInfra", "InfraCollection", "EphemeralInfraCollection", "AtprotoRepo", "ComputeContract"} {
		err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), nameFieldLabel)
		if err != nil {
			return fmt.Errorf("field labels of %s: %w", kind, err)
		}
	}
	return nil
}

// nameFieldLabel passes metadata.name and refuses every other label.
func nameFieldLabel(label, value string) (string, string, error) {
	if label == "metadata.name" {
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a known field selector: only %q", label, "metadata.name")
}
