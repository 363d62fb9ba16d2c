package validation

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// dids are n DIDs that differ.
func dids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("did:web:n%d.example.com", i)
	}
	return out
}

// contracts are n contracts with the user data.
func contracts(n int, userData string) []socialweb.Contract {
	out := make([]socialweb.Contract, n)
	for i := range out {
		out[i] = socialweb.Contract{Name: fmt.Sprintf("c%d", i), State: socialweb.ContractStaged, UserData: userData}
	}
	return out
}

func seconds(n int32) *int32 { return &n }

// infraCases change one thing of a valid Infra.
var infraCases = []struct {
	name   string
	change func(*socialweb.Infra)
	kind   field.ErrorType
	path   string
}{
	{"as it is", func(*socialweb.Infra) {}, "", ""},
	{"no contracts", func(i *socialweb.Infra) { i.Spec.Contracts, i.Spec.Secrets = nil, nil }, "", ""},
	{"unbound", func(i *socialweb.Infra) { i.Spec.Record = nil }, "", ""},
	{"name with dots", func(i *socialweb.Infra) { i.Name = "a.b.c" }, "", ""},
	{"name upper case", func(i *socialweb.Infra) { i.Name = "Web" }, field.ErrorTypeInvalid, "metadata.name"},
	{"name too long", func(i *socialweb.Infra) { i.Name = long(254) }, field.ErrorTypeInvalid, "metadata.name"},
	{"namespaced", func(i *socialweb.Infra) { i.Namespace = "default" }, field.ErrorTypeForbidden, "metadata.namespace"},

	{"description at its bound", func(i *socialweb.Infra) { i.Spec.Description = long(4096) }, "", ""},
	{"description too long", func(i *socialweb.Infra) { i.Spec.Description = long(4097) }, field.ErrorTypeTooLong, "spec.description"},
	{"description too long in bytes", func(i *socialweb.Infra) { i.Spec.Description = strings.Repeat("é", 2049) }, field.ErrorTypeTooLong, "spec.description"},
	{"contracts at their bound", func(i *socialweb.Infra) { i.Spec.Secrets, i.Spec.Contracts = nil, contracts(128, "") }, "", ""},
	{"too many contracts", func(i *socialweb.Infra) { i.Spec.Secrets, i.Spec.Contracts = nil, contracts(129, "") }, field.ErrorTypeTooMany, "spec.contracts"},
	{"declaration under its bound", func(i *socialweb.Infra) { i.Spec.Secrets, i.Spec.Contracts = nil, contracts(24, long(16384)) }, "", ""},
	{"declaration over its bound", func(i *socialweb.Infra) { i.Spec.Secrets, i.Spec.Contracts = nil, contracts(25, long(16384)) }, field.ErrorTypeInvalid, "spec.contracts"},
	{"declaration over its bound when escaped", func(i *socialweb.Infra) {
		i.Spec.Secrets, i.Spec.Contracts = nil, contracts(5, strings.Repeat("<", 16384))
	}, field.ErrorTypeInvalid, "spec.contracts"},

	{"contract without a name", func(i *socialweb.Infra) { i.Spec.Contracts[1].Name = "" }, field.ErrorTypeRequired, "spec.contracts[1].name"},
	{"contract name with a dot", func(i *socialweb.Infra) { i.Spec.Contracts[1].Name = "a.b" }, field.ErrorTypeInvalid, "spec.contracts[1].name"},
	{"contract name too long", func(i *socialweb.Infra) { i.Spec.Contracts[1].Name = long(64) }, field.ErrorTypeInvalid, "spec.contracts[1].name"},
	{"contract name twice", func(i *socialweb.Infra) { i.Spec.Contracts[1].Name = "front" }, field.ErrorTypeDuplicate, "spec.contracts[1].name"},
	{"no state", func(i *socialweb.Infra) { i.Spec.Contracts[1].State = "" }, field.ErrorTypeNotSupported, "spec.contracts[1].state"},
	{"state of a record", func(i *socialweb.Infra) { i.Spec.Contracts[1].State = "staged" }, field.ErrorTypeNotSupported, "spec.contracts[1].state"},
	{"unknown state", func(i *socialweb.Infra) { i.Spec.Contracts[1].State = "Paused" }, field.ErrorTypeNotSupported, "spec.contracts[1].state"},
	{"vmName with a space", func(i *socialweb.Infra) { i.Spec.Contracts[0].VMName = "my vm" }, field.ErrorTypeInvalid, "spec.contracts[0].vmName"},
	{"vmName too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].VMName = long(254) }, field.ErrorTypeInvalid, "spec.contracts[0].vmName"},
	{"bidder a handle", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = []string{"alice.example.com"} }, field.ErrorTypeInvalid, "spec.contracts[0].bidderDids[0]"},
	{"bidder empty", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = []string{""} }, field.ErrorTypeInvalid, "spec.contracts[0].bidderDids[0]"},
	{"bidder too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = []string{"did:web:" + long(2048)} }, field.ErrorTypeTooLong, "spec.contracts[0].bidderDids[0]"},
	{"bidder twice", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = []string{alice, alice} }, field.ErrorTypeDuplicate, "spec.contracts[0].bidderDids[1]"},
	{"bidders at their bound", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = dids(64) }, "", ""},
	{"too many bidders", func(i *socialweb.Infra) { i.Spec.Contracts[0].BidderDIDs = dids(65) }, field.ErrorTypeTooMany, "spec.contracts[0].bidderDids"},
	{"denied not a DID", func(i *socialweb.Infra) { i.Spec.Contracts[0].DenyBidderDIDs = []string{"did:web"} }, field.ErrorTypeInvalid, "spec.contracts[0].denyBidderDids[0]"},
	{"denied twice", func(i *socialweb.Infra) { i.Spec.Contracts[0].DenyBidderDIDs = []string{bob, bob} }, field.ErrorTypeDuplicate, "spec.contracts[0].denyBidderDids[1]"},
	{"denied and wanted", func(i *socialweb.Infra) { i.Spec.Contracts[0].DenyBidderDIDs = []string{alice} }, field.ErrorTypeInvalid, "spec.contracts[0].denyBidderDids[0]"},
	{"too many denied", func(i *socialweb.Infra) { i.Spec.Contracts[0].DenyBidderDIDs = dids(65) }, field.ErrorTypeTooMany, "spec.contracts[0].denyBidderDids"},
	{"key with options", func(i *socialweb.Infra) {
		i.Spec.Contracts[0].SSHAuthorizedKeys = []string{`restrict,command="/bin/true" ` + sshKey}
	}, "", ""},
	{"key empty", func(i *socialweb.Infra) { i.Spec.Contracts[0].SSHAuthorizedKeys = []string{""} }, field.ErrorTypeInvalid, "spec.contracts[0].sshAuthorizedKeys[0]"},
	{"key no key", func(i *socialweb.Infra) { i.Spec.Contracts[0].SSHAuthorizedKeys = []string{"~/.ssh/id_ed25519.pub"} }, field.ErrorTypeInvalid, "spec.contracts[0].sshAuthorizedKeys[0]"},
	{"two keys in one", func(i *socialweb.Infra) { i.Spec.Contracts[0].SSHAuthorizedKeys = []string{sshKey + "\n" + sshKey} }, field.ErrorTypeInvalid, "spec.contracts[0].sshAuthorizedKeys[0]"},
	{"key too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].SSHAuthorizedKeys = []string{"ssh-rsa " + long(8192)} }, field.ErrorTypeTooLong, "spec.contracts[0].sshAuthorizedKeys[0]"},
	{"too many keys", func(i *socialweb.Infra) { i.Spec.Contracts[0].SSHAuthorizedKeys = make([]string, 65) }, field.ErrorTypeTooMany, "spec.contracts[0].sshAuthorizedKeys"},
	{"user data at its bound", func(i *socialweb.Infra) { i.Spec.Contracts[0].UserData = long(16384) }, "", ""},
	{"user data too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].UserData = long(16385) }, field.ErrorTypeTooLong, "spec.contracts[0].userData"},
	{"policy too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].Policy = long(254) }, field.ErrorTypeTooLong, "spec.contracts[0].policy"},
	{"arguments of the fulfiller's policy", func(i *socialweb.Infra) { i.Spec.Contracts[0].Policy = "" }, "", ""},
	{"argument too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].PolicyArgs = []string{"", long(1025)} }, field.ErrorTypeTooLong, "spec.contracts[0].policyArgs[1]"},
	{"too many arguments", func(i *socialweb.Infra) { i.Spec.Contracts[0].PolicyArgs = make([]string, 65) }, field.ErrorTypeTooMany, "spec.contracts[0].policyArgs"},
	{"no timeout", func(i *socialweb.Infra) { i.Spec.Contracts[0].VMReadyTimeoutSec = nil }, "", ""},
	{"timeout zero", func(i *socialweb.Infra) { i.Spec.Contracts[0].VMReadyTimeoutSec = seconds(0) }, field.ErrorTypeInvalid, "spec.contracts[0].vmReadyTimeoutSec"},
	{"timeout too long", func(i *socialweb.Infra) { i.Spec.Contracts[0].VMReadyTimeoutSec = seconds(86401) }, field.ErrorTypeInvalid, "spec.contracts[0].vmReadyTimeoutSec"},

	{"secret of no contract", func(i *socialweb.Infra) { i.Spec.Secrets[0].Contract = "side" }, field.ErrorTypeInvalid, "spec.secrets[0].contract"},
	{"secret without a contract", func(i *socialweb.Infra) { i.Spec.Secrets[0].Contract = "" }, field.ErrorTypeRequired, "spec.secrets[0].contract"},
	{"two secrets of a contract", func(i *socialweb.Infra) { i.Spec.Secrets = append(i.Spec.Secrets, i.Spec.Secrets[0]) }, field.ErrorTypeDuplicate, "spec.secrets[1].contract"},
	{"secret without a name", func(i *socialweb.Infra) { i.Spec.Secrets[0].SecretRef.Name = "" }, field.ErrorTypeRequired, "spec.secrets[0].secretRef.name"},
	{"secret name a path", func(i *socialweb.Infra) { i.Spec.Secrets[0].SecretRef.Name = "../x" }, field.ErrorTypeInvalid, "spec.secrets[0].secretRef.name"},
	{"secret namespace with a dot", func(i *socialweb.Infra) { i.Spec.Secrets[0].SecretRef.Namespace = "a.b" }, field.ErrorTypeInvalid, "spec.secrets[0].secretRef.namespace"},

	{"follows a record", func(i *socialweb.Infra) { i.Spec.Record.URI = "at://" + alice + "/computer.socialweb.infra/web" }, "", ""},
	{"no repository", func(i *socialweb.Infra) { i.Spec.Record.RepoRef.Name = "" }, field.ErrorTypeRequired, "spec.record.repoRef.name"},
	{"repository name a path", func(i *socialweb.Infra) { i.Spec.Record.RepoRef.Name = "a/b" }, field.ErrorTypeInvalid, "spec.record.repoRef.name"},
	{"uri a web address", func(i *socialweb.Infra) { i.Spec.Record.URI = "https://example.com/x" }, field.ErrorTypeInvalid, "spec.record.uri"},
	{"uri of a handle", func(i *socialweb.Infra) { i.Spec.Record.URI = "at://alice.example.com/computer.socialweb.infra/web" }, field.ErrorTypeInvalid, "spec.record.uri"},
	{"uri of a repository", func(i *socialweb.Infra) { i.Spec.Record.URI = "at://" + alice }, field.ErrorTypeInvalid, "spec.record.uri"},
	{"uri of a collection", func(i *socialweb.Infra) { i.Spec.Record.URI = "at://" + alice + "/computer.socialweb.infra" }, field.ErrorTypeInvalid, "spec.record.uri"},
	{"uri of another kind", func(i *socialweb.Infra) {
		i.Spec.Record.URI = "at://" + alice + "/computer.socialweb.ephemeralInfra/web"
	}, field.ErrorTypeInvalid, "spec.record.uri"},
	{"no deletion policy", func(i *socialweb.Infra) { i.Spec.Record.DeletionPolicy = "" }, field.ErrorTypeNotSupported, "spec.record.deletionPolicy"},
	{"unknown deletion policy", func(i *socialweb.Infra) { i.Spec.Record.DeletionPolicy = "Orphan" }, field.ErrorTypeNotSupported, "spec.record.deletionPolicy"},
}

func TestValidateInfraCreate(t *testing.T) {
	for _, tc := range infraCases {
		t.Run(tc.name, func(t *testing.T) {
			infra := newInfra(t)
			tc.change(infra)
			want(t, ValidateInfraCreate(infra), tc.kind, tc.path)
		})
	}
}

// TestValidateInfraUpdateFindsWhatChanged holds an update to the rules of a
// create in whatever it changes of the spec.
func TestValidateInfraUpdateFindsWhatChanged(t *testing.T) {
	for _, tc := range infraCases {
		if !strings.HasPrefix(tc.path, "spec.contracts") && !strings.HasPrefix(tc.path, "spec.secrets") && tc.path != "spec.description" {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			infra := newInfra(t)
			tc.change(infra)
			want(t, ValidateInfraUpdate(infra, newInfra(t)), tc.kind, tc.path)
		})
	}
}

func TestPrivateKeyIsNotRepeated(t *testing.T) {
	const private = "-----BEGIN OPENSSH PRIVATE KEY----- c2VjcmV0"
	infra := newInfra(t)
	infra.Spec.Contracts[0].SSHAuthorizedKeys = []string{private}
	errs := ValidateInfraCreate(infra)
	want(t, errs, field.ErrorTypeInvalid, "spec.contracts[0].sshAuthorizedKeys[0]")
	if text := errs.ToAggregate().Error(); strings.Contains(text, "c2VjcmV0") || !strings.Contains(text, "public key") {
		t.Errorf("the error must name the remedy and not the key: %s", text)
	}
}

func TestSizeErrorNamesBytesAndLimit(t *testing.T) {
	infra := newInfra(t)
	infra.Spec.Secrets, infra.Spec.Contracts = nil, contracts(25, long(16384))
	text := ValidateInfraCreate(infra).ToAggregate().Error()
	if !strings.Contains(text, "400000 are allowed") || !strings.Contains(text, "takes 4") {
		t.Errorf("the error must name the size and the limit: %s", text)
	}
}
