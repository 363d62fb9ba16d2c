package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestOpenAPIIsComplete: both documents describe every field of every kind, and
// kubectl explains them.
func TestOpenAPIIsComplete(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	root := decode[record](t, e.must(t, request{path: "/openapi/v3"}).body)
	paths := root["paths"].(record)
	entry, ok := paths["apis/socialweb.computer/v1alpha1"].(record)
	if !ok {
		t.Fatalf("paths %v", keys(paths))
	}
	v3 := decode[record](t, e.must(t, request{path: entry["serverRelativeURL"].(string)}).body)
	schemas := v3["components"].(record)["schemas"].(record)
	v2 := decode[record](t, e.must(t, request{path: "/openapi/v2"}).body)
	for document, definitions := range map[string]record{"v3": schemas, "v2": v2["definitions"].(record)} {
		kinds := 0
		for name, d := range definitions {
			if !strings.Contains(name, "socialweb") {
				continue
			}
			kinds++
			for field, p := range d.(record)["properties"].(record) {
				if p.(record)["description"] == nil && field != "kind" && field != "apiVersion" {
					t.Errorf("%s: %s.%s has no description", document, name, field)
				}
			}
		}
		if kinds < 34 {
			t.Errorf("%s: %d types of ours", document, kinds)
		}
	}
	for _, what := range []string{"infra.spec.contracts", "einf.spec", "arepo.status", "infra.status.record", "cc.spec.resources", "infcol.status.children", "einfcol"} {
		out := e.kubectl(t, "explain", what, "--recursive")
		if err := contains(out, "DESCRIPTION:", "FIELDS:"); err != nil {
			t.Errorf("explain %s: %v", what, err)
		}
	}
}

// TestUnknownFields: a strict client is told the name of a field that isn't there;
// a lax one gets a warning or nothing, as it asks.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	for i, c := range []struct {
		validation string
		status     int
		warns      bool
	}{{"Strict", http.StatusBadRequest, false}, {"Warn", http.StatusCreated, true}, {"Ignore", http.StatusCreated, false}} {
		m := manifest(fmt.Sprintf("o%d", i), "x")
		m["spec"].(record)["nope"] = 1
		m["spec"].(record)["contracts"] = []any{record{"name": "web", "alsoNope": true}}
		a := e.do(t, request{method: http.MethodPost, path: infras + "?fieldValidation=" + c.validation, body: m})
		if a.status != c.status {
			t.Errorf("%s: %d %s", c.validation, a.status, a.body)
		}
		if c.validation == "Strict" {
			if err := contains(a.failure.Message, `"spec.nope"`, `"spec.contracts[0].alsoNope"`); err != nil {
				t.Error(err)
			}
		}
		if warning := strings.Join(a.header["Warning"], " "); strings.Contains(warning, "spec.nope") != c.warns {
			t.Errorf("%s: warning %q", c.validation, warning)
		}
	}
	a := e.apply(t, "o1", "", "m", true, `},"spec":{"nope":1}}`)
	if a.status < 400 || contains(a.failure.Message, "nope") != nil {
		t.Errorf("apply: %d %s", a.status, a.body)
	}
}
