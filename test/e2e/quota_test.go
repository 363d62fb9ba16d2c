//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// With our kinds in discovery a quota becomes usable: the controller-manager's monitors
// of every resource sync (projectcalico/calico#11114, kubernetes/kubernetes#135796). A
// count of Infras is no quota, as of no cluster-scoped kind: it is accepted, counts
// nothing and takes nothing from the others (rancher/rancher#52602).
func TestQuotaBecomesUsable(t *testing.T) {
	t.Parallel()
	ns := harness.Name(t)
	k := plane.Kubectl(t)
	k.Run(t, "create", "namespace", ns)
	t.Cleanup(func() { k.Run(t, "delete", "namespace", ns, "--wait=false") })
	k.Run(t, "create", "quota", "q", "--hard=pods=5,count/configmaps=1,count/infras.socialweb.computer=0", "-n", ns)
	k.Run(t, "wait", `--for=jsonpath={.status.hard.pods}=5`, "quota/q", "-n", ns, "--timeout=120s")
	k.Run(t, "create", "configmap", "one", "-n", ns)
	if said := k.Fails(t, "", "create", "configmap", "two", "-n", ns); !strings.Contains(said, "exceeded quota") {
		t.Errorf("over the quota: %s", said)
	}
	plane.Infra(t)
	if out := k.Run(t, "get", "quota", "q", "-n", ns, "-o", "jsonpath={.status.used}"); strings.Contains(out, `"count/infras.socialweb.computer":"1"`) {
		t.Errorf("a quota of a namespace counts what is in none: %s", out)
	}
}

// Our kinds are in no namespace: a path with one is 404 whatever namespace it names,
// and one in the object is
// dropped, as for every cluster-scoped kind (the twin of kubernetes/kubernetes#57933).
func TestNamespacesHaveNoneOfOurs(t *testing.T) {
	t.Parallel()
	client, err := rest.HTTPClientFor(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"default", "missing"} {
		const body = `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"}}`
		resp, err := client.Post(plane.URL()+"/apis/socialweb.computer/v1alpha1/namespaces/"+ns+"/infras", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("POST in namespace %s: %s", ns, resp.Status)
		}
	}
	o := harness.NewInfra(harness.Name(t))
	o.Namespace = "missing"
	made, err := plane.Admin().Infra.SocialwebV1alpha1().Infras().Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	t.Cleanup(func() { plane.RemoveInfra(t, o.Name) })
	if made.Namespace != "" {
		t.Errorf("an Infra in namespace %q", made.Namespace)
	}
}
