//go:build e2e

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// TestMissingRightsAreNamed (C38): a server whose account may do nothing waits; its
// log and /readyz name each object that is missing, with the command that makes it.
// These very commands are run, and the same process becomes ready. What may be
// granted in a way that can't be seen is told once and not waited for.
func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	name := harness.Name(t)
	plane.ServiceAccount(t, name)
	namespace(t, name)
	if _, err := plane.Admin().Core.CoreV1().Secrets(name).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "serving"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	g := plane.Guest(t, harness.GuestOptions{
		Account: name, OwnCertificate: true,
		Flags: []string{"--serving-cert-secret=" + name + "/serving", "--credentials-namespace=" + name},
	})
	want := []string{
		"RoleBinding kube-system/infra-apiserver-authentication-reader", "ClusterRoleBinding infra-apiserver:system:auth-delegator",
		"ClusterRole or ClusterRoleBinding infra-apiserver ", "Role or RoleBinding " + name + "/serving",
	}
	warning := "fault=\"Role or RoleBinding " + name + "/infra-apiserver"
	said := waitsFor(t, g, "kube-apiserver", want...)
	harness.Eventually(t, func(context.Context) error {
		for _, w := range want {
			if n := strings.Count(plane.Log(t, g.Name), "because=\""+w); n == 0 {
				return fmt.Errorf("%q is not in the log", w)
			}
		}
		return nil
	})
	if status, body, err := g.Get(t.Context(), "/livez"); err != nil || status != http.StatusOK {
		t.Errorf("livez while it waits: %d %s %v", status, body, err)
	}
	if status, body, err := g.Get(t.Context(), "/apis/socialweb.computer/v1alpha1/infras"); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, "auth-delegator") {
		t.Errorf("the API while it waits: %d %s %v", status, body, err)
	}
	for i, command := range remedies(said) {
		// The plane has objects of these names already, for others.
		plane.Shell(t, strings.ReplaceAll(command, "infra-apiserver", name))
		if i == 0 {
			waitsFor(t, g, "kube-apiserver", want[1:]...)
		}
	}
	harness.Eventually(t, g.Ready)
	if n := strings.Count(plane.Log(t, g.Name), warning); n != 1 {
		t.Errorf("warned %d times of the credentials", n)
	}
}

// waitsFor waits until /readyz names a need and texts, and returns what it says.
func waitsFor(t *testing.T, g *harness.Guest, need string, texts ...string) string {
	t.Helper()
	var said string
	harness.Eventually(t, func(ctx context.Context) error {
		err := g.Ready(ctx)
		if err == nil {
			return errors.New("it is ready")
		}
		said = err.Error()
		for _, text := range append(texts, "[-]"+need+" failed") {
			if !strings.Contains(said, text) {
				return fmt.Errorf("%q is not in: %w", text, err)
			}
		}
		return nil
	})
	return said
}

// remedies are the command lines in what /readyz says, one for each fault.
func remedies(said string) []string {
	// Faults are apart by "; ", as are the commands of one remedy.
	said = strings.ReplaceAll(said, "; Role", ";\nRole")
	said = strings.ReplaceAll(said, "; ClusterRole", ";\nClusterRole")
	var out []string
	for _, m := range regexp.MustCompile(`mend it: (kubectl .*)`).FindAllStringSubmatch(said, -1) {
		out = append(out, strings.TrimSuffix(m[1], ";"))
	}
	return out
}

// namespace makes one; it goes with the plane.
func namespace(t *testing.T, name string) {
	t.Helper()
	if _, err := plane.Admin().Core.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
