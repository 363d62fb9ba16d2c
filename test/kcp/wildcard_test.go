package kcp

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestWildcardHasNoBarrier: the PDS of a workspace doesn't answer. Consistent reads of
// that workspace are refused, with a reason that names its repository alone; all
// workspaces together, and each other one, are read as before.
func TestWildcardHasNoBarrier(t *testing.T) {
	beside(t)
	e := start(t)
	proxy, err := testproxy.New(e.pds.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		keepSecret(proxy.Tokens()...)
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	dead, alive := e.tenant(t, "dead"), e.tenant(t, "alive")
	dead.create(t, "a", "of the dead")
	alive.create(t, "a", "of the living")
	dead.settled(t)
	alive.settled(t)
	if err := os.WriteFile(filepath.Join(e.data, "credentials", "dead", repoName, "pds"), []byte(proxy.URL()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dead.client.AtprotoRepos().Patch(t.Context(), repoName, types.MergePatchType, []byte(`{"spec":{"pds":"`+proxy.URL()+`"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	dead.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
	proxy.Set(testproxy.Fault{Kind: testproxy.Refused})

	for _, path := range []string{infras, infras + "/a"} {
		if a := dead.refused(t, request{path: path}, http.StatusServiceUnavailable); a.header.Get("Retry-After") == "" {
			t.Errorf("%s: headers %v", path, a.header)
		}
	}
	dead.refused(t, request{method: http.MethodDelete, path: infras + "/a"}, http.StatusServiceUnavailable)
	if got := decode[v1alpha1.InfraList](t, dead.must(t, request{path: infras + "?resourceVersion=0"}).body); len(got.Items) != 1 {
		t.Errorf("from the cache: %+v", got)
	}
	seen := map[string]string{}
	for _, o := range decode[v1alpha1.InfraList](t, e.all(t, infras).body).Items {
		seen[o.Annotations["kcp.io/cluster"]] = o.Spec.Description
	}
	if seen["dead"] != "of the dead" || seen["alive"] != "of the living" {
		t.Errorf("all workspaces: %v", seen)
	}
	watch := (&tenant{shard: e.shard, base: prefix + "/clusters/*", name: "*"}).watch(t, infras+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	watch.until(t, "what is in the dead workspace", func(ev event) bool {
		return ev.Type == "ADDED" && ev.infra(t).Annotations["kcp.io/cluster"] == "dead"
	})
	alive.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Description = "alive" })
	watch.change(t, "MODIFIED", "a", "alive")
	if got := alive.infra(t, "a"); got.Spec.Description != "alive" {
		t.Errorf("the living: %+v", got)
	}
	proxy.Clear()
	waitFor(t, "the dead workspace", func() error {
		return dead.do(t, request{path: infras}).err()
	})
}
