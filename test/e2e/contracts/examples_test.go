//go:build e2e

package contracts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Accounts of the examples, by the DIDs that stand for them there.
var exampleAccounts = map[string]string{
	"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa": mine,
	"did:plc:bbbbbbbbbbbbbbbbbbbbbbbb": theirs,
}

// The examples are what they say: with accounts in place of the made-up ones every kind
// is there once, and is accepted as it stands.
func TestExamples(t *testing.T) {
	t.Parallel()
	account := plane.Account(t, mine)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "default.mine", Namespace: harness.CredentialsNamespace},
		StringData: map[string]string{"identifier": account.DID, "password": account.Password},
	}
	if _, err := plane.Admin().Core.CoreV1().Secrets(harness.CredentialsNamespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k := plane.Kubectl(t)
	apply := func(text string) {
		t.Helper()
		k.RunIn(t, text, "apply", "--server-side", "--validate=strict", "-f", "-")
	}
	all := examples(t)
	apply(all["atprotorepo.yaml"])
	for _, name := range []string{"mine", "theirs"} {
		harness.Await(t, plane.Admin().Infra.SocialwebV1alpha1().AtprotoRepos().Watch, name, func(o *v1alpha1.AtprotoRepo) error {
			if !meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady) {
				return fmt.Errorf("conditions %+v", o.Status.Conditions)
			}
			return nil
		})
	}
	plane.Granted(t, "mine", v1alpha1.AccessReadWrite)
	// The cluster has another default repository: these name theirs.
	for _, name := range []string{"infra.yaml", "ephemeralinfra.yaml"} {
		all[name] += "  record:\n    repoRef:\n      name: mine\n"
	}
	kinds := map[string]bool{}
	for name, text := range all {
		for line := range strings.Lines(text) {
			if kind, ok := strings.CutPrefix(line, "kind: "); ok {
				kinds[strings.TrimSpace(kind)] = true
			}
		}
		if name != "atprotorepo.yaml" {
			apply(text)
		}
	}
	if len(kinds) != 6 {
		t.Errorf("examples of %v", kinds)
	}
	if got := contracts(record(t, account, "shop").Value); len(got) != 2 || got[0] != "web=requested" || got[1] != "db=staged" {
		t.Errorf("the record of the Infra has %v", got)
	}
}

// examples by file, with accounts of the PDS in place of the made-up ones.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(plane.Manifest(".."), "example", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "  default: true\n", "")
		for did, name := range exampleAccounts {
			text = strings.ReplaceAll(text, did, plane.Account(t, name).DID)
		}
		out[filepath.Base(file)] = text
	}
	return out
}
