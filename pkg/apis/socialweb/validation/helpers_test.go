package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/install"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	alice  = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
	bob    = "did:web:bob.example.com"
	sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Hq4GdFq5h me@example.com"
)

// scheme has the kinds, for their defaults.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}()

// defaulted fills in the defaults of a versioned object and converts it into out.
func defaulted(t *testing.T, in, out runtime.Object) {
	t.Helper()
	scheme.Default(in)
	if err := scheme.Convert(in, out, nil); err != nil {
		t.Fatal(err)
	}
}

// newInfra is a valid Infra that uses every field of its spec.
func newInfra(t *testing.T) *socialweb.Infra {
	t.Helper()
	timeout := int32(300)
	infra := &socialweb.Infra{}
	defaulted(t, &v1alpha1.Infra{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7"},
		Spec: v1alpha1.InfraSpec{
			Description: "two guests",
			Contracts: []v1alpha1.Contract{{
				Name: "front", State: v1alpha1.ContractRequested, VMName: "front-1",
				BidderDIDs: []string{alice}, DenyBidderDIDs: []string{bob},
				SSHAuthorizedKeys: []string{sshKey}, UserData: "#cloud-config\n",
				Policy: "cheapest", PolicyArgs: []string{"max=3"}, VMReadyTimeoutSec: &timeout,
			}, {Name: "back"}},
			Secrets: []v1alpha1.ContractSecret{{Contract: "front", SecretRef: v1alpha1.SecretReference{Name: "keys", Namespace: "vault"}}},
			Record:  &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "main"}},
		},
	}, infra)
	return infra
}

// newEphemeral is a valid EphemeralInfra.
func newEphemeral(t *testing.T) *socialweb.EphemeralInfra {
	t.Helper()
	infra := &socialweb.EphemeralInfra{}
	defaulted(t, &v1alpha1.EphemeralInfra{
		ObjectMeta: metav1.ObjectMeta{Name: "job", ResourceVersion: "7"},
		Spec: v1alpha1.EphemeralInfraSpec{InfraSpec: v1alpha1.InfraSpec{
			Contracts: []v1alpha1.Contract{{Name: "run", State: v1alpha1.ContractRequested}},
		}},
	}, infra)
	return infra
}

// newRepo is a valid AtprotoRepo.
func newRepo(t *testing.T) *socialweb.AtprotoRepo {
	t.Helper()
	repo := &socialweb.AtprotoRepo{}
	defaulted(t, &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "main", ResourceVersion: "7"},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: alice, Handle: "alice.example.com", PDS: "https://pds.example.com",
			CredentialsRef: &v1alpha1.CredentialsReference{Name: "alice"}, Default: true,
		},
	}, repo)
	return repo
}

// want checks that the errors are one of the type at the path; kind "" wants
// none. Every error must say more than its path and type.
func want(t *testing.T, errs field.ErrorList, kind field.ErrorType, path string) {
	t.Helper()
	if kind == "" {
		if len(errs) > 0 {
			t.Fatalf("valid, but got %v", errs.ToAggregate())
		}
		return
	}
	if len(errs) != 1 {
		t.Fatalf("%d errors, want one of %s: %v", len(errs), path, errs.ToAggregate())
	}
	e := errs[0]
	if e.Type != kind || e.Field != path {
		t.Errorf("got %s at %s, want %s at %s: %v", e.Type, e.Field, kind, path, e)
	}
	if strings.TrimSpace(e.ErrorBody()) == "" || !strings.Contains(e.Error(), path) {
		t.Errorf("the error doesn't name the field: %v", e)
	}
}

// long is a string of n bytes.
func long(n int) string { return strings.Repeat("x", n) }
