package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

// Every verb that discovery names is served, and none that it doesn't
// (nephio-project/porch#55).
func TestDiscovery(t *testing.T) {
	e := start(t)
	var list metav1.APIResourceList
	e.do(t, "GET", base, "").decode(t, &list)
	got := map[string]metav1.APIResource{}
	for _, r := range list.APIResources {
		got[r.Name] = r
		if r.Namespaced {
			t.Errorf("%s is namespaced", r.Name)
		}
	}
	full := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for name, want := range map[string]struct{ singular, short string }{
		"infras": {"infra", "inf"}, "ephemeralinfras": {"ephemeralinfra", "einf"}, "atprotorepos": {"atprotorepo", "arepo"},
		"infracollections": {"infracollection", "infcol"}, "ephemeralinfracollections": {"ephemeralinfracollection", "einfcol"}, "computecontracts": {"computecontract", "cc"},
	} {
		r, status := got[name], got[name+"/status"]
		slices.Sort(r.Verbs)
		slices.Sort(status.Verbs)
		if !slices.Equal(r.Verbs, full) || !slices.Equal(status.Verbs, []string{"get", "patch", "update"}) {
			t.Errorf("%s: verbs %v, of the status %v", name, r.Verbs, status.Verbs)
		}
		if r.SingularName != want.singular || !slices.Equal(r.ShortNames, []string{want.short}) || !slices.Equal(r.Categories, []string{"socialweb"}) || r.StorageVersionHash == "" {
			t.Errorf("%s: %+v", name, r)
		}
		for _, verb := range []struct{ method, path, body, contentType string }{
			{"GET", "", "", ""}, {"POST", "", "{}", ""}, {"DELETE", "?dryRun=All", "", ""},
			{"GET", "/x", "", ""}, {"PUT", "/x", "{}", ""}, {"PATCH", "/x", "{}", "application/merge-patch+json"}, {"DELETE", "/x", "", ""},
			{"GET", "/x/status", "", ""}, {"PUT", "/x/status", "{}", ""}, {"PATCH", "/x/status", "{}", "application/merge-patch+json"},
		} {
			if a := e.do(t, verb.method, base+"/"+name+verb.path, verb.body, "Content-Type: "+verb.contentType); a.code == 405 || a.code >= 500 {
				t.Errorf("%s %s%s: %d %s", verb.method, name, verb.path, a.code, a.body)
			}
		}
		e.sender().Watch(t, testhttp.Request{Path: base + "/" + name + "?watch=1"})
	}
	if len(got) != 12 {
		t.Errorf("%d resources: %v", len(got), got)
	}
	aggregated := e.do(t, "GET", "/apis", "", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if !strings.Contains(aggregated.contentType, "as=APIGroupDiscoveryList") || !strings.Contains(string(aggregated.body), `"atprotorepos"`) {
		t.Errorf("aggregated discovery: %s %.300s", aggregated.contentType, aggregated.body)
	}
}

// A client that speaks protobuf gets 406, or JSON where it takes that too; what
// it sends is 415 (k/k#86666, gardener/gardener#1605).
func TestNoProtobuf(t *testing.T) {
	e := start(t)
	const protobuf = "application/vnd.kubernetes.protobuf"
	for _, path := range []string{"/infras", "/infras?watch=1&timeoutSeconds=5"} {
		if a := e.do(t, "GET", base+path, "", "Accept: "+protobuf); a.code != 406 {
			t.Errorf("%s, protobuf alone: %d", path, a.code)
		}
		if a := e.do(t, "GET", base+path, "", "Accept: "+protobuf+",application/json"); a.code != 200 || !strings.HasPrefix(a.contentType, "application/json") {
			t.Errorf("%s, with a fallback: %d %s", path, a.code, a.contentType)
		}
	}
	if a := e.do(t, "POST", base+"/infras", "k8s\x00", "Content-Type: "+protobuf); a.code != 415 {
		t.Errorf("a protobuf body: %d", a.code)
	}
	if a := e.do(t, "GET", base+"/infras", "", "Accept: application/yaml"); a.code != 200 || !strings.HasPrefix(string(a.body), "apiVersion:") {
		t.Errorf("YAML: %d %.100s", a.code, a.body)
	}
}

// Tables and metadata alone are served, as lists (k/k#65579).
func TestOtherForms(t *testing.T) {
	e := start(t)
	e.create(t, "a")
	e.create(t, "b")
	var table metav1.Table
	a := e.do(t, "GET", base+"/infras?limit=1", "", "Accept: application/json;as=Table;g=meta.k8s.io;v=v1,application/json")
	a.decode(t, &table)
	if len(table.Rows) != 1 || table.ResourceVersion == "" || table.Continue == "" || len(table.ColumnDefinitions) != 8 {
		t.Errorf("table %.400s", a.body)
	}
	for path, kind := range map[string]string{"/infras": "PartialObjectMetadataList", "/infras/a": "PartialObjectMetadata"} {
		var m metav1.PartialObjectMetadataList
		a := e.do(t, "GET", base+path, "", "Accept: application/json;as="+kind+";g=meta.k8s.io;v=v1")
		a.decode(t, &m)
		if m.Kind != kind || strings.Contains(string(a.body), `"spec"`) {
			t.Errorf("%s: %.300s", path, a.body)
		}
	}
}

// Both OpenAPI documents describe every field
// (kubernetes-retired/service-catalog#1576, antrea-io/antrea#323).
func TestOpenAPI(t *testing.T) {
	e := start(t)
	const ours = "computer.socialweb."
	type schema struct {
		Description string
		Properties  map[string]struct{ Description string }
	}
	var v3 struct{ Paths map[string]any }
	var v2 struct{ Definitions map[string]schema }
	// An aggregator fetches both in the background, long after the server is there.
	testwait.Until(t, "OpenAPI", func() error {
		e.do(t, "GET", "/openapi/v3", "").decode(t, &v3)
		if v3.Paths["apis/socialweb.computer/v1alpha1"] == nil {
			return fmt.Errorf("paths of version 3: %v", v3.Paths)
		}
		e.do(t, "GET", "/openapi/v2", "").decode(t, &v2)
		for name := range v2.Definitions {
			if strings.HasPrefix(name, ours) {
				return nil
			}
		}
		return errors.New("version 2 has none of our schemas")
	})
	var doc struct {
		Components struct{ Schemas map[string]schema }
	}
	e.do(t, "GET", "/openapi/v3/apis/socialweb.computer/v1alpha1", "").decode(t, &doc)
	found := 0
	for name, s := range doc.Components.Schemas {
		if !strings.HasPrefix(name, ours) {
			continue
		}
		found++
		if s.Description == "" || v2.Definitions[name].Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d schemas of ours", found)
	}
}
