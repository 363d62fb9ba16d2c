//go:build e2e

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/servingcert"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// crd is a CustomResourceDefinition of a group.
const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, kind: %[3]s}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
`

// TestHiddenCRDs: where CustomResourceDefinitions serve the group and version, the
// server keeps its hands off the APIService, waits, and names them, although it may
// not list any. With the remedy carried out, the same process goes on.
func TestHiddenCRDs(t *testing.T) {
	t.Parallel()
	name := harness.Name(t)
	group := name + ".example.com"
	apiService := "v1alpha1." + group
	plane.ServiceAccount(t, name)
	namespace(t, name)
	secrets := plane.Admin().Core.CoreV1().Secrets(name)
	if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "serving"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k := plane.Kubectl(t)
	k.RunIn(t, fmt.Sprintf(crd, "gadgets", group, "Gadget")+fmt.Sprintf(crd, "widgets", group, "Widget"), "apply", "-f", "-")
	k.Run(t, "wait", "--timeout=3m", "--for=condition=Established", "crd/gadgets."+group, "crd/widgets."+group)
	k.Run(t, "wait", "--timeout=3m", "--for=create", "apiservice/"+apiService) // by kube-apiserver, a moment later
	k.Run(t, "wait", "--timeout=3m", "--for=condition=Available", "apiservice/"+apiService)

	g := plane.Guest(t, harness.GuestOptions{
		Account: name, OwnCertificate: true,
		Flags: []string{"--serving-cert-secret=" + name + "/serving", "--serving-cert-apiservice=" + apiService},
	})
	for _, command := range remedies(waitsFor(t, g, "kube-apiserver", "ClusterRoleBinding infra-apiserver-serving")) {
		plane.Shell(t, strings.ReplaceAll(command, "infra-apiserver", name))
	}
	both := "CustomResourceDefinitions gadgets." + group + ", widgets." + group
	said := waitsFor(t, g, "kube-apiserver", both+" serve "+group+"/v1alpha1", "the APIService "+apiService+" hides their objects")
	if strings.Contains(said, "Role") {
		t.Errorf("rights are missing still: %s", said)
	}
	if s, err := secrets.Get(t.Context(), "serving", metav1.GetOptions{}); err != nil || len(s.Data) > 0 {
		t.Errorf("it wrote a certificate: %d keys, %v", len(s.Data), err)
	}
	if ca := k.Run(t, "get", "apiservice", apiService, "-o", "jsonpath={.spec.caBundle}"); ca != "" {
		t.Errorf("it wrote the APIService: %s", ca)
	}
	for _, as := range []string{"", "system:serviceaccount:" + harness.Namespace + ":" + name} {
		out, err := plane.Server(t, "preflight", "--serving-cert-apiservice="+apiService, "--as="+as)
		if err == nil || !strings.Contains(out, both) {
			t.Errorf("preflight %s: %v\n%s", as, err, out)
		}
	}

	_, fix, _ := strings.Cut(said, "mend it: ")
	fix, _, _ = strings.Cut(fix, "; then")
	plane.Shell(t, fix)
	harness.Eventually(t, g.Ready)
	if s, err := secrets.Get(t.Context(), "serving", metav1.GetOptions{}); err != nil || len(s.Data[servingcert.LeafCert]) == 0 {
		t.Errorf("there is no certificate: %v", err)
	}
	if out, err := plane.Server(t, "preflight", "--serving-cert-apiservice="+apiService); err != nil {
		t.Errorf("preflight afterwards: %v\n%s", err, out)
	}
}
