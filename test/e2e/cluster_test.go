//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Our kinds belong to no namespace: paths with one are 404 for every verb, and never
// create anything, whether the namespace is there or not. A case of namespaces that
// are missing or terminating (k/k#57933) can't arise.
func TestNoNamespaces(t *testing.T) {
	t.Parallel()
	c := newCaller(t, plane.Config())
	for _, kind := range kinds {
		name := harness.Name(t)
		for _, namespace := range []string{"default", "missing"} {
			at := base + "/namespaces/" + namespace + "/" + kind.resource
			for method, path := range map[string]string{
				http.MethodPost: at, http.MethodGet: at, http.MethodPut: at + "/" + name, http.MethodPatch: at + "/" + name, http.MethodDelete: at + "/" + name,
			} {
				if got := c.ask(t, method, path, kind.manifest(name), "Content-Type: "+contentType(method)); got.code != http.StatusNotFound {
					t.Errorf("%s %s: %d %s", method, path, got.code, got.body)
				}
			}
		}
		if got := c.ask(t, http.MethodGet, base+"/"+kind.resource+"/"+name, ""); got.code != http.StatusNotFound {
			t.Errorf("%s was made: %d %s", kind.name, got.code, got.body)
		}
	}
	// A namespace in the body is dropped, as every kind without one does.
	for at, body := range map[string]string{
		base + "/infras": kinds[0].manifest(harness.Name(t), `"namespace":"default"`),
		"/apis/rbac.authorization.k8s.io/v1/clusterroles": `{"metadata":{"name":"` + harness.Name(t) + `","namespace":"default"}}`,
	} {
		got := c.ask(t, http.MethodPost, at, body)
		var made metav1.PartialObjectMetadata
		if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.code != http.StatusCreated || made.Namespace != "" {
			t.Errorf("POST %s: %d %s", at, got.code, got.body)
		}
		c.ask(t, http.MethodDelete, at+"/"+made.Name, "")
	}
	// kubectl's -n does no harm.
	name := plane.Infra(t)
	if out := plane.Kubectl(t).Run(t, "get", "infra", name, "-n", "kube-system", "-o", "name"); !strings.Contains(out, name) {
		t.Errorf("get with a namespace: %s", out)
	}
}

func contentType(method string) string {
	if method == http.MethodPatch {
		return mergePatch
	}
	return "application/json"
}

// A ResourceQuota counts what is in its namespace, so it can't count our kinds, no
// more than other kinds without one (rancher/rancher#52602). It does no harm: what it
// says of others is right and enforced.
func TestQuota(t *testing.T) {
	t.Parallel()
	k := plane.Kubectl(t)
	ns := harness.Name(t)
	k.Run(t, "create", "namespace", ns)
	t.Cleanup(func() { k.Do(t, "", "delete", "namespace", ns, "--wait=false") })
	k.Run(t, "create", "quota", "q", "-n", ns, "--hard=count/infras.socialweb.computer=0,configmaps=1,secrets=0")
	k.Run(t, "wait", "quota/q", "-n", ns, "--for=jsonpath={.status.hard.configmaps}=1", "--timeout=3m")
	plane.QuotaInForce(t, ns)
	plane.Infra(t)
	k.Run(t, "create", "configmap", "one", "-n", ns)
	if err := k.Fails(t, "", "create", "configmap", "two", "-n", ns); !strings.Contains(err, "exceeded quota") {
		t.Errorf("a second ConfigMap: %s", err)
	}
	q, err := plane.Admin().Core.CoreV1().ResourceQuotas(ns).Get(t.Context(), "q", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	used := q.Status.Used["count/infras.socialweb.computer"]
	if !used.IsZero() {
		t.Errorf("Infras counted in a namespace: %s", used.String())
	}
	for _, name := range []string{"kube-controller-manager", "kube-apiserver"} {
		if found := complaints(plane.Log(t, name), "timed out waiting for quota monitor sync"); len(found) > 0 {
			t.Errorf("%s: %s", name, fmt.Sprint(found))
		}
	}
}
