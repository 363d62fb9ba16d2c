package validation

import (
	"fmt"
	"net"
	"net/url"
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

// AtprotoRepoWarnings are what a client should hear about an AtprotoRepo that is
// valid, and serves less than it may seem to.
func AtprotoRepoWarnings(spec *socialweb.AtprotoRepoSpec) []string {
	var warnings []string
	switch {
	case spec.Access == socialweb.AccessReadWrite && spec.CredentialsRef == nil:
		warnings = append(warnings, "spec.credentialsRef: is empty, so the repository can be read only: name the credentials, or set spec.access to Read")
	case spec.Default && spec.Access != socialweb.AccessReadWrite:
		warnings = append(warnings, fmt.Sprintf("spec.access: is %s, so objects that name no repository can't be created while this one is the default: set it to ReadWrite, or spec.default to false", spec.Access))
	}
	if spec.Execution == socialweb.ExecutionFollow && spec.Access == socialweb.AccessNone {
		warnings = append(warnings, "spec.execution: is Follow, and with spec.access None there is nothing to follow")
	}
	if spec.CredentialsRef != nil && spec.Access == socialweb.AccessReadWrite && inTheClear(spec.PDS) {
		warnings = append(warnings, "spec.pds: is an http URL, so the password crosses the network in the clear: use https")
	}
	return warnings
}

// inTheClear tells whether what is sent to a PDS crosses a network unencrypted.
func inTheClear(pds string) bool {
	u, err := url.Parse(pds)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback())
}
