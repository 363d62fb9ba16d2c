package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// newContract is a valid ComputeContract that uses every field of its spec.
func newContract() *socialweb.ComputeContract {
	timeout, ttl := int32(300), int32(60)
	return &socialweb.ComputeContract{
		ObjectMeta: metav1.ObjectMeta{Name: "infra-web-front", ResourceVersion: "7"},
		Spec: socialweb.ComputeContractSpec{
			VMName: "front-1", BidderDIDs: []string{alice}, DenyBidderDIDs: []string{bob},
			SSHAuthorizedKeys: []string{sshKey}, UserData: "#cloud-config\n", Policy: "cheapest", PolicyArgs: []string{"max=3"}, VMReadyTimeoutSec: &timeout,
			SecretsRef: &socialweb.SecretReference{Name: "keys", Namespace: "vault"},
			Resources:  &socialweb.ComputeResources{CPU: quantity("2"), Memory: quantity("4Gi"), Storage: quantity("20Gi")},
			Image:      "debian-13", TTLSecondsAfterFinished: &ttl,
		},
	}
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

func TestValidateComputeContractCreate(t *testing.T) {
	type spec = socialweb.ComputeContractSpec
	number := func(n int32) *int32 { return &n }
	cases := []struct {
		name   string
		change func(*spec)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", func(*spec) {}, "", ""},
		{"empty", func(s *spec) { *s = spec{} }, "", ""},
		{"released from the beginning", func(s *spec) { s.Release = true }, "", ""},
		{"VM name", func(s *spec) { s.VMName = "A" }, field.ErrorTypeInvalid, "spec.vmName"},
		{"bidder", func(s *spec) { s.BidderDIDs[0] = "alice" }, field.ErrorTypeInvalid, "spec.bidderDids[0]"},
		{"bidder in both lists", func(s *spec) { s.DenyBidderDIDs[0] = alice }, field.ErrorTypeInvalid, "spec.denyBidderDids[0]"},
		{"private key", func(s *spec) { s.SSHAuthorizedKeys[0] = "-----BEGIN PRIVATE KEY-----" }, field.ErrorTypeInvalid, "spec.sshAuthorizedKeys[0]"},
		{"user data", func(s *spec) { s.UserData = long(MaxUserData + 1) }, field.ErrorTypeTooLong, "spec.userData"},
		{"policy", func(s *spec) { s.Policy = long(MaxPolicy + 1) }, field.ErrorTypeTooLong, "spec.policy"},
		{"policy argument", func(s *spec) { s.PolicyArgs[0] = long(MaxPolicyArg + 1) }, field.ErrorTypeTooLong, "spec.policyArgs[0]"},
		{"timeout", func(s *spec) { s.VMReadyTimeoutSec = number(0) }, field.ErrorTypeInvalid, "spec.vmReadyTimeoutSec"},
		{"secret without a name", func(s *spec) { s.SecretsRef.Name = "" }, field.ErrorTypeRequired, "spec.secretsRef.name"},
		{"secret's namespace", func(s *spec) { s.SecretsRef.Namespace = "a.b" }, field.ErrorTypeInvalid, "spec.secretsRef.namespace"},
		{"resources without a word", func(s *spec) { s.Resources = &socialweb.ComputeResources{} }, "", ""},
		{"least", func(s *spec) {
			s.Resources = &socialweb.ComputeResources{CPU: quantity("1m"), Memory: quantity("1Mi"), Storage: quantity("1Mi")}
		}, "", ""},
		{"most", func(s *spec) {
			s.Resources = &socialweb.ComputeResources{CPU: quantity("4096"), Memory: quantity("64Ti"), Storage: quantity("1Pi")}
		}, "", ""},
		{"no cpu", func(s *spec) { s.Resources.CPU = quantity("0") }, field.ErrorTypeInvalid, "spec.resources.cpu"},
		{"too little cpu", func(s *spec) { s.Resources.CPU = quantity("999u") }, field.ErrorTypeInvalid, "spec.resources.cpu"},
		{"too much cpu", func(s *spec) { s.Resources.CPU = quantity("4096001m") }, field.ErrorTypeInvalid, "spec.resources.cpu"},
		{"memory in megabytes of another kind", func(s *spec) { s.Resources.Memory = quantity("1M") }, field.ErrorTypeInvalid, "spec.resources.memory"},
		{"negative memory", func(s *spec) { s.Resources.Memory = quantity("-4Gi") }, field.ErrorTypeInvalid, "spec.resources.memory"},
		{"too much storage", func(s *spec) { s.Resources.Storage = quantity("2Pi") }, field.ErrorTypeInvalid, "spec.resources.storage"},
		{"image", func(s *spec) { s.Image = long(MaxImage + 1) }, field.ErrorTypeTooLong, "spec.image"},
		{"gone at once", func(s *spec) { s.TTLSecondsAfterFinished = number(0) }, "", ""},
		{"gone before", func(s *spec) { s.TTLSecondsAfterFinished = number(-1) }, field.ErrorTypeInvalid, "spec.ttlSecondsAfterFinished"},
		{"gone in more than ten years", func(s *spec) { s.TTLSecondsAfterFinished = number(MaxTTLSeconds + 1) }, field.ErrorTypeInvalid, "spec.ttlSecondsAfterFinished"},
		{"too large", func(s *spec) {
			s.SSHAuthorizedKeys = make([]string, MaxSSHKeys)
			for i := range s.SSHAuthorizedKeys {
				s.SSHAuthorizedKeys[i] = sshKey + long(8000)
			}
		}, field.ErrorTypeInvalid, "spec"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := newContract()
			tc.change(&c.Spec)
			want(t, ValidateComputeContractCreate(c), tc.kind, tc.path)
		})
	}
}

// What was asked for stays, field by field; it can be given back, once.
func TestValidateComputeContractUpdate(t *testing.T) {
	type spec = socialweb.ComputeContractSpec
	other := int32(99)
	release := func(s *spec) { s.Release = true }
	cases := []struct {
		name     string
		old, now func(*spec)
		path     string // "": valid
	}{
		{"nothing", nil, nil, ""},
		{"given back", nil, release, ""},
		{"given back before", release, release, ""},
		{"taken again", release, nil, "spec.release"},
		{"the same quantity in other words", nil, func(s *spec) { s.Resources.CPU = quantity("2000m") }, ""},
		{"vmName", nil, func(s *spec) { s.VMName = "x" }, "spec.vmName"},
		{"bidderDids", nil, func(s *spec) { s.BidderDIDs = nil }, "spec.bidderDids"},
		{"denyBidderDids", nil, func(s *spec) { s.DenyBidderDIDs = nil }, "spec.denyBidderDids"},
		{"sshAuthorizedKeys", nil, func(s *spec) { s.SSHAuthorizedKeys = []string{"hidden-1"} }, "spec.sshAuthorizedKeys"},
		{"userData", nil, func(s *spec) { s.UserData = "hidden-2" }, "spec.userData"},
		{"policy", nil, func(s *spec) { s.Policy = "" }, "spec.policy"},
		{"policyArgs", nil, func(s *spec) { s.PolicyArgs = append(s.PolicyArgs, "x") }, "spec.policyArgs"},
		{"vmReadyTimeoutSec", nil, func(s *spec) { s.VMReadyTimeoutSec = &other }, "spec.vmReadyTimeoutSec"},
		{"secretsRef", nil, func(s *spec) { s.SecretsRef = nil }, "spec.secretsRef"},
		{"resources", nil, func(s *spec) { s.Resources.CPU = nil }, "spec.resources"},
		{"image", nil, func(s *spec) { s.Image = "x" }, "spec.image"},
		{"ttlSecondsAfterFinished", nil, func(s *spec) { s.TTLSecondsAfterFinished = nil }, "spec.ttlSecondsAfterFinished"},
	}
	seen := 0
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newContract(), newContract()
			if tc.old != nil {
				tc.old(&old.Spec)
			}
			if tc.now != nil {
				tc.now(&now.Spec)
			}
			errs := ValidateComputeContractUpdate(now, old)
			if tc.path == "" {
				want(t, errs, "", "")
				return
			}
			seen++
			want(t, errs, field.ErrorTypeInvalid, tc.path)
			if text := errs[0].Error(); !strings.Contains(text, "create another ComputeContract") || strings.Contains(text, "hidden-") {
				t.Error(text)
			}
		})
	}
	// Each field of the spec is release, or one that can't change.
	s := newContract().Spec
	if n := len(computeContractFields(&s, &s)) + 1; n != seen {
		t.Errorf("%d fields, %d of them tested", n, seen)
	}
}
