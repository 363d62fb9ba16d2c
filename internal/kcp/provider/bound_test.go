package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

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
