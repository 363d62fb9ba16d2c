package kcp

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDiscovery: what kcp asks for at each discovery of a consumer, with the asterisk
// as a literal %2A and as it is, and what a consumer may ask for in a workspace.
func TestDiscovery(t *testing.T) {
	beside(t)
	e := start(t)
	full := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, cluster := range []string{"%2A", "%2a", "*", "discovery-of-one"} {
		a := e.shard.do(t, request{path: prefix + "/clusters/" + cluster + groupPath})
		l := decode[metav1.APIResourceList](t, a.body)
		verbs := map[string][]string{}
		for _, r := range l.APIResources {
			slices.Sort(r.Verbs)
			verbs[r.Name] = r.Verbs
			if r.Namespaced {
				t.Errorf("%s: %s is namespaced", cluster, r.Name)
			}
		}
		if a.status != http.StatusOK || l.Kind != "APIResourceList" || l.GroupVersion != "socialweb.computer/v1alpha1" || len(verbs) != 12 {
			t.Errorf("%s: %d %s", cluster, a.status, a.body)
		}
		for _, name := range []string{"infras", "ephemeralinfras", "infracollections", "ephemeralinfracollections", "computecontracts", "atprotorepos"} {
			if !slices.Equal(verbs[name], full) || !slices.Equal(verbs[name+"/status"], []string{"get", "patch", "update"}) {
				t.Errorf("%s: %s has verbs %v, its status %v", cluster, name, verbs[name], verbs[name+"/status"])
			}
		}
	}
	for path, word := range map[string]string{
		"/apis": `"name":"socialweb.computer"`, "/apis/socialweb.computer": `"groupVersion":"socialweb.computer/v1alpha1"`,
		"/openapi/v3": "apis/socialweb.computer/v1alpha1", "/openapi/v3/apis/socialweb.computer/v1alpha1": "apis.socialweb.v1alpha1.Infra", "/version": "gitVersion",
	} {
		for _, cluster := range []string{"%2A", "discovery-of-one"} {
			if a := e.shard.do(t, request{path: prefix + "/clusters/" + cluster + path}); a.status != http.StatusOK || !strings.Contains(strings.ReplaceAll(a.body, " ", ""), word) {
				t.Errorf("%s in %s: %d %.300s", path, cluster, a.status, a.body)
			}
		}
	}
	// Without the prefix it is the same door.
	if a := e.shard.do(t, request{path: "/clusters/%2A" + groupPath}); a.status != http.StatusOK || !strings.Contains(a.body, "APIResourceList") {
		t.Errorf("without the prefix: %d %s", a.status, a.body)
	}
}
