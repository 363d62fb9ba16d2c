//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// schemaPrefix is what the names of our schemas begin with.
const schemaPrefix = "computer.socialweb."

// Both OpenAPI documents of the cluster have ours in them, as each replica gives it,
// and kube-apiserver complained of nothing but that the server wasn't there yet
// (kcp-dev/kcp#3430).
func TestOpenAPIIsMerged(t *testing.T) {
	t.Parallel()
	cluster := newCaller(t, plane.Config())
	awaitMerged(t, cluster)
	v2 := schemas(t, cluster, "/openapi/v2")
	v3 := schemas(t, cluster, "/openapi/v3"+base)
	if len(v2) < 20 || len(v3) < 20 {
		t.Errorf("%d schemas of ours in version 2, %d in version 3", len(v2), len(v3))
	}
	for _, r := range plane.Replicas {
		own := newCaller(t, r.Direct(plane.Config()))
		for path, merged := range map[string]map[string]any{"/openapi/v2": v2, "/openapi/v3" + base: v3} {
			for name, want := range schemas(t, own, path) {
				if !reflect.DeepEqual(merged[name], want) {
					t.Errorf("%s of %s: %s differs", path, r.Name, name)
				}
			}
		}
	}
	for _, entry := range complaints(plane.Log(t, "kube-apiserver"), "openapi") {
		// What it can't ask itself in time is nothing of ours.
		if !strings.Contains(entry, "ResponseCode: 503, Body: service unavailable") && !strings.Contains(entry, plane.URL()+"/openapi") {
			t.Errorf("kube-apiserver complains: %s", entry)
		}
	}
}

// awaitMerged waits until kube-apiserver, which fetches it in the background, has our OpenAPI.
func awaitMerged(t *testing.T, cluster caller) {
	t.Helper()
	harness.Eventually(t, func(context.Context) error {
		for path, want := range map[string]string{"/openapi/v2": schemaPrefix, "/openapi/v3": base[1:]} {
			if got := cluster.ask(t, http.MethodGet, path, ""); got.code != http.StatusOK || !strings.Contains(got.body, want) {
				return fmt.Errorf("%s lacks %s: %d", path, want, got.code)
			}
		}
		return nil
	})
}

// schemas of ours in a document of either version, by name.
func schemas(t *testing.T, c caller, path string) map[string]any {
	t.Helper()
	var doc struct {
		Definitions map[string]any
		Components  struct{ Schemas map[string]any }
	}
	got := c.ask(t, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatalf("%s: %d %v", path, got.code, err)
	}
	out := map[string]any{}
	for _, all := range []map[string]any{doc.Definitions, doc.Components.Schemas} {
		for name, schema := range all {
			if strings.HasPrefix(name, schemaPrefix) {
				out[name] = schema
			}
		}
	}
	return out
}

// complaints are the entries of a log of warnings and errors that speak of something.
func complaints(log, of string) []string {
	var out []string
	entry := ""
	for _, line := range append(strings.Split(log, "\n"), "I") {
		if line != "" && strings.ContainsRune("IWEF", rune(line[0])) { // what else begins a line goes on
			if entry != "" && entry[0] != 'I' && strings.Contains(strings.ToLower(entry), of) {
				out = append(out, entry)
			}
			entry = ""
		}
		entry += line + "\n"
	}
	return out
}

// kubectl explain describes every field of every kind
// (kubernetes-retired/service-catalog#1576).
func TestExplain(t *testing.T) {
	t.Parallel()
	k := plane.Kubectl(t)
	awaitMerged(t, newCaller(t, plane.Config()))
	for _, kind := range kinds {
		out := k.Run(t, "explain", kind.short, "--recursive")
		for _, want := range []string{"GROUP:      socialweb.computer", "KIND:       " + kind.name, "VERSION:    v1alpha1", "DESCRIPTION:", "spec\t<", "status\t<", kind.field, "conditions\t<[]Condition>"} {
			if !strings.Contains(out, want) {
				t.Errorf("explain %s --recursive lacks %q:\n%s", kind.short, want, out)
			}
		}
		if strings.Contains(out, "<empty>") {
			t.Errorf("explain %s --recursive: %s", kind.short, out)
		}
		for _, field := range []string{".status", ".spec." + kind.field} {
			out := k.Run(t, "explain", kind.resource+field)
			if !strings.Contains(out, "DESCRIPTION") || strings.Contains(out, "<empty>") {
				t.Errorf("explain %s%s: %s", kind.resource, field, out)
			}
		}
	}
	if err := k.Fails(t, "", "explain", "infra.spec.nope"); !strings.Contains(err, "nope") {
		t.Errorf("explain of no field: %s", err)
	}
}

// Our kinds are in discovery, aggregated and not, and in kubectl's lists, with every
// name that they have; nothing of others is missing.
func TestDiscoveryThroughTheAggregator(t *testing.T) {
	t.Parallel()
	k := plane.Kubectl(t)
	out := k.Run(t, "api-resources", "--api-group=socialweb.computer", "--no-headers", "-o", "wide")
	for _, kind := range kinds {
		want := fmt.Sprintf("%s %s socialweb.computer/v1alpha1 false %s create,delete,deletecollection,get,list,patch,update,watch socialweb", kind.resource, kind.short, kind.name)
		found := false
		for line := range strings.Lines(out) {
			found = found || strings.Join(strings.Fields(line), " ") == want
		}
		if !found {
			t.Errorf("api-resources lacks %q:\n%s", want, out)
		}
	}
	if all := k.Run(t, "api-resources", "-o", "name"); !strings.Contains(all, "deployments.apps") || !strings.Contains(all, "infras.socialweb.computer") {
		t.Errorf("api-resources: %s", all)
	}
	if out := k.Run(t, "api-versions"); !strings.Contains(out, "socialweb.computer/v1alpha1\n") {
		t.Errorf("api-versions: %s", out)
	}
	c := newCaller(t, plane.Config())
	for _, accept := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
		got := c.ask(t, http.MethodGet, "/apis", "", "Accept: "+accept)
		if got.code != http.StatusOK || !strings.Contains(got.body, `"socialweb.computer"`) || strings.Contains(got.body, `"Stale"`) {
			t.Errorf("%s: %d %.300s", accept, got.code, got.body)
		}
	}
	if got := c.ask(t, http.MethodGet, "/apis/socialweb.computer", ""); got.code != http.StatusOK || !strings.Contains(got.body, `"preferredVersion":{"groupVersion":"socialweb.computer/v1alpha1"`) {
		t.Errorf("the group: %d %s", got.code, got.body)
	}
}
