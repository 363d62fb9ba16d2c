package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// virtual is a kcp with an export's endpoint slice and one virtual workspace: two
// bindings and, on two pages, three infras.
func virtual(t *testing.T, forbid *atomic.Bool) *workspace {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(path string, do func(r *http.Request) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if forbid.Load() && strings.Contains(path, "/services/") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(do(r)); err != nil {
				t.Error(err)
			}
		})
	}
	list := func(kind, next string, n int) any {
		objects := make([]any, n)
		for i := range objects {
			objects[i] = map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": fmt.Sprint(next, i)}}
		}
		return map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"continue": next}, "items": objects}
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	const services = "/services/apiexport/2hfmzjr2n6xk1pwf/computecontracts"
	answer("/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/computecontracts", func(*http.Request) any {
		return map[string]any{
			"apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": map[string]any{"name": "computecontracts"},
			"status": map[string]any{"endpoints": []any{map[string]any{"url": s.URL + services}}},
		}
	})
	answer("/apis/apis.kcp.io/v1alpha2/apiexports/computecontracts", func(*http.Request) any {
		return map[string]any{
			"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": map[string]any{"name": "computecontracts"},
			"spec": map[string]any{"resources": []any{map[string]any{"group": "socialweb.computer", "name": "infras"}}},
		}
	})
	answer("/apis/kcp.socialweb.computer/v1alpha1/infraendpointslices/infra", func(*http.Request) any {
		return map[string]any{
			"apiVersion": "kcp.socialweb.computer/v1alpha1", "kind": "InfraEndpointSlice", "metadata": map[string]any{"name": "infra"},
			"status": map[string]any{"endpoints": []any{map[string]any{"url": "https://a.example.com"}, map[string]any{"url": "https://b.example.com"}}},
		}
	})
	answer(services+"/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings", func(*http.Request) any { return list("APIBinding", "", 2) })
	answer(services+"/clusters/*/apis/socialweb.computer/v1alpha1/infras", func(r *http.Request) any {
		if r.URL.Query().Get("continue") == "" {
			return list("Infra", "more", 2)
		}
		return list("Infra", "", 1)
	})
	answer(services+"/clusters/*/apis/socialweb.computer/v1alpha1/", func(*http.Request) any { return list("Other", "", 0) })
	w, err := newWorkspace(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestBound(t *testing.T) {
	var forbid atomic.Bool
	w, e := virtual(t, &forbid), ourExport(t)
	if got := w.bound(t.Context(), e); got != "2 workspaces bind it, with 3 infras" {
		t.Error(got)
	}
	forbid.Store(true)
	if got := w.bound(t.Context(), e); !strings.HasPrefix(got, "what is bound to it can't be seen (apibindings of all workspaces: ") {
		t.Error(got)
	}
	e.Name = "other"
	if got := w.bound(t.Context(), e); got != "what is bound to it can't be seen (its APIExportEndpointSlice has no URLs)" {
		t.Error(got)
	}
}

// Shards aren't led away from where tenants have objects, unless somebody insists.
func TestEndpoints(t *testing.T) {
	var forbid atomic.Bool
	w := virtual(t, &forbid)
	slice := func(name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("kcp.socialweb.computer/v1alpha1")
		u.SetKind("InfraEndpointSlice")
		u.SetName(name)
		return u
	}
	const a, b, c = "https://a.example.com", "https://b.example.com", "https://c.example.com"
	for name, x := range map[string]struct {
		slice          string
		o              Options
		forbid         bool
		fault, unknown string
	}{
		"the same":              {"infra", Options{URLs: []string{b, a}}, false, "", ""},
		"one more":              {"infra", Options{URLs: []string{a, b, c}}, false, "", ""},
		"one less":              {"infra", Options{URLs: []string{a}}, false, "to " + b + ", which isn't given with --url; 2 workspaces bind it, with 3 infras", ""},
		"another":               {"infra", Options{URLs: []string{c}}, false, "to " + a + ", " + b + ", which", ""},
		"by force":              {"infra", Options{URLs: []string{c}, Force: true}, false, "", ""},
		"who knows":             {"infra", Options{URLs: []string{c}}, true, "", "whether tenants have objects there isn't known"},
		"an export isn't there": {"infra", Options{URLs: []string{c}, Export: "other"}, false, "", ""},
		"the first time":        {"none", Options{URLs: []string{c}}, false, "", ""},
	} {
		forbid.Store(x.forbid)
		if x.o.Export == "" {
			x.o.Export = "computecontracts"
		}
		r := &Report{}
		if err := x.o.checkEndpoints(t.Context(), w, slice(x.slice), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for want, found := range map[string][]Finding{"fault " + x.fault: r.Faults, "unknown " + x.unknown: r.Unknown} {
			_, part, _ := strings.Cut(want, " ")
			if (part == "") != (len(found) == 0) || part != "" && (!strings.Contains(found[0].Fault, part) || !strings.Contains(found[0].Remedy, "--force-conflicts")) {
				t.Errorf("%s: %q, want %s", name, found, want)
			}
		}
	}
}
