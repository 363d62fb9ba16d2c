package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTables: what kubectl get prints comes from the server, in lists and watches.
func TestTables(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
	columns := func(table metav1.Table, wide bool) (names []string) {
		for _, c := range table.ColumnDefinitions {
			if c.Priority == 0 || wide {
				names = append(names, strings.ToUpper(c.Name))
			}
		}
		return names
	}
	table := decode[metav1.Table](t, e.must(t, request{path: infras + "?limit=1", accept: asTable}).body)
	if got := fmt.Sprint(columns(table, false)); got != "[NAME PHASE CONTRACTS RECORD AGE]" {
		t.Errorf("columns %s", got)
	}
	if got := fmt.Sprint(columns(table, true)); got != "[NAME PHASE CONTRACTS RECORD AGE URI CID DIRECTION]" {
		t.Errorf("wide columns %s", got)
	}
	number(t, table.ResourceVersion)
	if len(table.Rows) != 1 || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
		t.Fatalf("rows %+v", table.Rows)
	}
	cells := table.Rows[0].Cells
	if cells[0] != "a" || cells[2] != "0/1" || cells[3] != "a" || cells[4] == "<unknown>" || cells[5] != "at://"+e.account.DID+"/"+infraCollection+"/a" {
		t.Errorf("cells %v", cells)
	}
	one := decode[metav1.Table](t, e.must(t, request{path: infras + "/a", accept: asTable}).body)
	if len(one.Rows) != 1 {
		t.Errorf("GET as a table: %+v", one)
	}
	repos := decode[metav1.Table](t, e.must(t, request{path: resources["AtprotoRepo"], accept: asTable}).body)
	if len(repos.Rows) != 1 || slices.Contains(repos.Rows[0].Cells, any("<unknown>")) {
		t.Errorf("AtprotoRepos: %+v", repos)
	}
	wide := e.kubectl(t, "get", "inf", "-o", "wide")
	if err := contains(wide, "NAME", "AGE", "DIRECTION", e.account.DID); err != nil {
		t.Error(err)
	}
	meta := decode[metav1.PartialObjectMetadataList](t, e.must(t, request{
		path: infras, accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	}).body)
	if meta.Kind != "PartialObjectMetadataList" || len(meta.Items) != 1 || meta.Items[0].Name != "a" {
		t.Errorf("metadata %+v", meta)
	}
}

// TestProtobuf: our kinds have no protobuf form: 406, or the JSON that a client
// accepts too, and 415 for a body.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	const protobuf = "application/vnd.kubernetes.protobuf"
	if a := e.do(t, request{path: infras, accept: protobuf}); a.status != http.StatusNotAcceptable {
		t.Errorf("protobuf alone: %d", a.status)
	}
	if a := e.do(t, request{path: infras, accept: protobuf + ",application/json"}); a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("with JSON: %d %s", a.status, a.header.Get("Content-Type"))
	}
	if a := e.do(t, request{method: http.MethodPost, path: infras, kind: protobuf, body: "k8s\x00"}); a.status != http.StatusUnsupportedMediaType {
		t.Errorf("a body: %d %s", a.status, a.body)
	}
	yaml := e.must(t, request{path: infras, accept: "application/yaml"})
	if err := contains(yaml.body, "kind: InfraList"); err != nil {
		t.Error(err)
	}
}

// TestVerbsAreServed: the discovery names exactly what is served.
func TestVerbsAreServed(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	found := decode[metav1.APIResourceList](t, e.must(t, request{path: groupPath}).body)
	short := map[string]string{
		"infras": "inf", "ephemeralinfras": "einf", "atprotorepos": "arepo",
		"infracollections": "infcol", "ephemeralinfracollections": "einfcol", "computecontracts": "cc",
	}
	for _, r := range found.APIResources {
		main, sub, isSub := strings.Cut(r.Name, "/")
		want := "[create delete deletecollection get list patch update watch]"
		if isSub {
			want = "[get patch update]"
		} else if len(r.ShortNames) != 1 || r.ShortNames[0] != short[main] || !slices.Contains(r.Categories, "socialweb") {
			t.Errorf("%s: short names %v, categories %v", r.Name, r.ShortNames, r.Categories)
		}
		slices.Sort(r.Verbs)
		if r.Verbs.String() != want || r.Namespaced {
			t.Errorf("%s: verbs %v, namespaced %t", r.Name, r.Verbs, r.Namespaced)
		}
		collection, object := groupPath+"/"+main, groupPath+"/"+main+"/nothing"
		if isSub {
			object += "/" + sub
		}
		for _, verb := range r.Verbs {
			if verb == "watch" {
				e.watch(t, collection+"?watch=1")
				continue
			}
			req := map[string]request{
				"create":           {method: http.MethodPost, path: collection, body: `{}`},
				"delete":           {method: http.MethodDelete, path: object},
				"deletecollection": {method: http.MethodDelete, path: collection + "?labelSelector=none%3Dsuch"},
				"get":              {path: object},
				"list":             {path: collection},
				"patch":            {method: http.MethodPatch, path: object, kind: mergePatch, body: `{}`},
				"update":           {method: http.MethodPut, path: object, body: `{}`},
			}[verb]
			if a := e.do(t, req); a.err != nil || a.status == http.StatusMethodNotAllowed || a.status >= 500 {
				t.Errorf("%s %s: %d %s %v", verb, r.Name, a.status, a.body, a.err)
			}
		}
	}
	if len(found.APIResources) != 2*len(short) {
		t.Errorf("%d resources", len(found.APIResources))
	}
}

// TestDeleteCollection deletes what a selector selects, and its records.
func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	for i := range 6 {
		obj := newInfra(fmt.Sprintf("o%d", i), "x")
		obj.Labels = map[string]string{"odd": strconv.FormatBool(i%2 == 1)}
		e.create(t, obj)
	}
	if err := e.client.Infras().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "odd=true"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(keys(e.account.records(t))); got != "[o0 o2 o4]" {
		t.Errorf("records %s", got)
	}
	e.shows(t, "afterwards", "o0", "o2", "o4")
}
