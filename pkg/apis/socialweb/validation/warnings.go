package validation

import (
	"fmt"
	"strings"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// InfraWarnings are what a client should hear about a spec that is valid: a
// strategy returns them from WarningsOnCreate and WarningsOnUpdate.
func InfraWarnings(spec *socialweb.InfraSpec) []string {
	var warnings []string
	for i := range spec.Contracts {
		if c := &spec.Contracts[i]; strings.Contains(c.UserData, "PRIVATE KEY-----") {
			warnings = append(warnings, fmt.Sprintf("spec.contracts[%d].userData: holds a private key, and userData is published in the record: use spec.secrets", i))
		}
	}
	return warnings
}

// EphemeralInfraUpdateWarnings adds to [InfraWarnings] what an update doesn't do.
func EphemeralInfraUpdateWarnings(infra, old *socialweb.EphemeralInfra) []string {
	warnings := InfraWarnings(&infra.Spec.InfraSpec)
	now, was := infra.Spec.TTLSeconds, old.Spec.TTLSeconds
	if now != nil && was != nil && *now != *was && old.Status.ExpiresAt != nil {
		warnings = append(warnings, fmt.Sprintf("spec.ttlSeconds: the deadline was fixed at %s when the object was first seen and doesn't move", old.Status.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z")))
	}
	return warnings
}
