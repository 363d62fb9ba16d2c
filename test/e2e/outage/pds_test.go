//go:build e2e

package outage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Without the PDS the server says what it can: discovery, reads of the cache, watches,
// private writes; the rest is 503 with its reason, never 404 or empty. The APIService
// stays Available, and so the cluster doesn't notice.
func TestWithoutPDS(t *testing.T) {
	f := plane.Family(t)
	ns := namespaceWithContent(t)
	before := availableSince(t)
	list, err := f.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Infras().Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, FieldSelector: "metadata.name=" + f.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	plane.Proxy.Set(testproxy.Fault{Kind: testproxy.Refused})
	defer plane.Proxy.Clear()
	mark := plane.Mark(t, "kube-controller-manager")
	stale, staleUID := staleDependent(t, f)

	t.Run("discovery", func(t *testing.T) {
		out := plane.Kubectl(t).Run(t, "api-resources", "--api-group=socialweb.computer", "-o", "name", "--request-timeout=60s")
		for _, r := range []string{"infras", "ephemeralinfras", "atprotorepos"} {
			if !strings.Contains(out, r+".socialweb.computer") {
				t.Errorf("api-resources without %s:\n%s", r, out)
			}
		}
		plane.Kubectl(t).Run(t, "explain", "infra.spec", "--request-timeout=60s")
	})
	t.Run("cache", func(t *testing.T) {
		o, err := f.Infras().Get(t.Context(), f.Name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil || o.UID != f.Ref.UID {
			t.Errorf("GET: %v", err)
		}
		now, err := f.Infras().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil || len(now.Items) != len(list.Items) {
			t.Errorf("LIST: %d of %d objects, %v", len(now.Items), len(list.Items), err)
		}
	})
	t.Run("refused", func(t *testing.T) { refusals(t, f) })
	t.Run("private writes and watches", func(t *testing.T) {
		patch := []byte(`{"metadata":{"labels":{"during":"outage"}}}`)
		if _, err := f.Infras().Patch(t.Context(), f.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(harness.Explain(err))
		}
		await(t, w, func(o *v1alpha1.Infra) bool { return o.Labels["during"] == "outage" })
	})
	t.Run("namespace", func(t *testing.T) {
		deleteNamespace(t, ns)
		waitNamespace(t, ns, nil)
	})
	t.Run("quota", func(t *testing.T) { quotaWorks(t) })
	collectorTried(t, mark, staleUID)
	if err := errors.Join(f.ConfigMapErr(t.Context()), configMapErr(t.Context(), stale)); err != nil {
		t.Errorf("collected during the outage: %v", err)
	}

	plane.Proxy.Clear()
	harness.Eventually(t, func(ctx context.Context) error {
		patch := []byte(`{"spec":{"description":"after the outage"}}`)
		_, err := f.Infras().Patch(ctx, f.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	await(t, w, func(o *v1alpha1.Infra) bool { return o.Spec.Description == "after the outage" })
	harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(configMapErr(ctx, stale)) })
	if err := errors.Join(f.OwnerErr(t.Context()), f.InfraErr(t.Context()), f.ConfigMapErr(t.Context())); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if after := availableSince(t); after != before {
		t.Errorf("the APIService was Available since %s, and now since %s", before, after)
	}
}

// refusals tries what needs the PDS.
func refusals(t *testing.T, f *harness.Family) {
	t.Helper()
	const infras = "/apis/socialweb.computer/v1alpha1/infras"
	object := func(name string) string {
		return `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"` + name + `"},"spec":{"description":"x"}}`
	}
	sender, err := rest.HTTPClientFor(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	client := testhttp.Client{HTTP: sender, Server: plane.URL()}
	for _, r := range []struct{ method, path, contentType, body string }{
		{"GET", "/" + f.Name, "", ""},
		{"GET", "/" + f.Name + "-none", "", ""},
		{"GET", "", "", ""},
		{"POST", "", "application/json", object(f.Name + "-new")},
		{"PATCH", "/" + f.Name, "application/merge-patch+json", `{"spec":{"description":"x"}}`},
		{"PATCH", "/" + f.Name + "?fieldManager=e2e&force=true", "application/apply-patch+yaml", object(f.Name)},
		{"DELETE", "/" + f.Name, "", ""},
	} {
		a, err := client.Do(t.Context(), testhttp.Request{Method: r.method, Path: infras + r.path, Kind: r.contentType, Body: r.body})
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusServiceUnavailable || a.Fault.Code != http.StatusServiceUnavailable {
			t.Errorf("%s %s: %d %s, want 503", r.method, r.path, a.Status, a.Body)
			continue
		}
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 || !strings.Contains(a.Fault.Message, "PDS unavailable") {
			t.Errorf("%s %s doesn't say why, or when to come again: Retry-After %q, %s", r.method, r.path, a.Header.Get("Retry-After"), a.Fault.Message)
		}
	}
}

// await reads a watch, which must go on, until an object is as it should be.
func await(t *testing.T, w watch.Interface, is func(*v1alpha1.Infra) bool) {
	t.Helper()
	for {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended")
		case e, ok := <-w.ResultChan():
			if !ok {
				t.Fatal("the watch ended")
			}
			o, isInfra := e.Object.(*v1alpha1.Infra)
			if !isInfra {
				t.Fatalf("event %s %v", e.Type, e.Object)
			}
			if is(o) {
				return
			}
		}
	}
}

// availableSince is since when the APIService is.
func availableSince(t *testing.T) string {
	t.Helper()
	o, err := plane.Admin().Dynamic.Resource(harness.APIServices).Get(t.Context(), harness.APIServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil || len(conditions) != 1 {
		t.Fatalf("conditions %v %v", conditions, err)
	}
	c := conditions[0].(map[string]any)
	if c["status"] != "True" {
		t.Fatalf("condition %v", c)
	}
	return fmt.Sprint(c["lastTransitionTime"])
}
