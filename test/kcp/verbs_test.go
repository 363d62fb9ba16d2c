package kcp

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// object is what every object of an API has.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              map[string]any `json:"spec"`
	Status            map[string]any `json:"status"`
}

// TestVerbs: each verb as a shard sends it, what it answers, and what the record is
// afterwards.
func TestVerbs(t *testing.T) {
	beside(t)
	e := start(t)
	w := e.tenant(t, "verbs")

	a := w.must(t, request{method: http.MethodPost, path: infras + "?fieldManager=kubectl-create&fieldValidation=Strict", body: newInfra("a", "one")})
	made := decode[v1alpha1.Infra](t, a.body)
	if a.status != http.StatusCreated || made.Kind != "Infra" || made.APIVersion != "socialweb.computer/v1alpha1" || made.Name != "a" || made.UID == "" || made.Generation != 1 ||
		made.Annotations["kcp.io/cluster"] != "verbs" || made.Spec.Description != "one" || made.Spec.Record == nil || made.Spec.Record.RepoRef.Name != repoName {
		t.Errorf("created: %d %s", a.status, a.body)
	}
	if r := w.record(t, "a"); r["description"] != "one" || encode(t, r["contracts"]) != `[{"name":"web","state":"staged"}]` {
		t.Errorf("record of what was created: %v", r)
	}
	w.refused(t, request{method: http.MethodPost, path: infras, body: newInfra("a", "again")}, http.StatusConflict, `"a" already exists`)

	a = w.must(t, request{path: infras + "/a"})
	if got := decode[v1alpha1.Infra](t, a.body); a.status != http.StatusOK || got.UID != made.UID || got.Spec.Description != "one" || got.Status.Record == nil || got.Status.Record.URI != w.account.URI(collection, "a") {
		t.Errorf("got: %s", a.body)
	}
	w.refused(t, request{path: infras + "/b"}, http.StatusNotFound, `"b" not found`)
	if l := decode[v1alpha1.InfraList](t, w.must(t, request{path: infras + "?limit=500"}).body); l.Kind != "InfraList" || l.ResourceVersion == "" || len(l.Items) != 1 || l.Items[0].Spec.Description != "one" {
		t.Errorf("listed: %+v", l)
	}

	w.settled(t)
	obj := w.infra(t, "a")
	stale := obj.DeepCopy()
	obj.Spec.Description = "two"
	obj.Spec.Contracts = append(obj.Spec.Contracts, v1alpha1.Contract{Name: "db"})
	put := decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPut, path: infras + "/a?fieldManager=kubectl-replace", body: obj}).body)
	if put.Generation != 2 || put.UID != made.UID || put.Spec.Description != "two" || len(put.Spec.Contracts) != 2 {
		t.Errorf("put: %+v", put)
	}
	if r := w.record(t, "a"); r["description"] != "two" || encode(t, r["contracts"]) != `[{"name":"web","state":"staged"},{"name":"db","state":"staged"}]` {
		t.Errorf("record of what was put: %v", r)
	}
	w.refused(t, request{method: http.MethodPut, path: infras + "/a", body: stale}, http.StatusConflict, "the object has been modified")

	// What another client of the account writes is there at the next read.
	if _, err := w.account.Edit(t.Context(), collection, "a", func(r map[string]any) { r["description"], r["theirs"] = "of the PDS", 1 }); err != nil {
		t.Fatal(err)
	}
	if got := w.infra(t, "a"); got.Spec.Description != "of the PDS" || got.Generation != 3 {
		t.Errorf("after an edit on the PDS: %+v", got)
	}
	w.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Description = "three" })
	if r := w.record(t, "a"); r["description"] != "three" || r["theirs"] != float64(1) {
		t.Errorf("record with a field of another client: %v", r)
	}

	a = w.must(t, request{method: http.MethodDelete, path: infras + "/a", body: `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`})
	if d := decode[metav1.Status](t, a.body); a.status == http.StatusOK && (d.Status != metav1.StatusSuccess || d.Details == nil || d.Details.UID != made.UID) {
		t.Errorf("deleted: %+v", d)
	}
	if r := w.record(t, "a"); r != nil {
		t.Errorf("record of what was deleted: %v", r)
	}
	w.refused(t, request{path: infras + "/a"}, http.StatusNotFound)

	for _, name := range []string{"c", "d", "e"} {
		w.create(t, name, "one of many")
	}
	w.change(t, "e", func(i *v1alpha1.Infra) { i.Labels = map[string]string{"keep": "yes"} })
	w.must(t, request{method: http.MethodDelete, path: infras + "?labelSelector=keep%21%3Dyes"})
	if l := decode[v1alpha1.InfraList](t, w.must(t, request{path: infras}).body); len(l.Items) != 1 || l.Items[0].Name != "e" {
		t.Errorf("after a deletion of what is not kept: %+v", l.Items)
	}
	for rkey, want := range map[string]bool{"c": false, "d": false, "e": true} {
		if r := w.record(t, rkey); (r != nil) != want {
			t.Errorf("after a deletion of what is not kept: record %s: %v", rkey, r)
		}
	}
}

// TestEveryKind: all kinds of the export have all verbs, in a workspace.
func TestEveryKind(t *testing.T) {
	beside(t)
	e := start(t)
	w := e.tenant(t, "kinds")
	other := e.account(t)
	for resource, c := range map[string]struct{ kind, spec string }{
		"infras":                    {"Infra", `{"description":"x","contracts":[{"name":"web"}]}`},
		"ephemeralinfras":           {"EphemeralInfra", `{"ttlSeconds":3600,"contracts":[{"name":"job"}]}`},
		"infracollections":          {"InfraCollection", `{"repoRef":{"name":"other"}}`},
		"ephemeralinfracollections": {"EphemeralInfraCollection", `{"repoRef":{"name":"other"}}`},
		"computecontracts":          {"ComputeContract", `{"vmName":"vm.example"}`},
		"atprotorepos":              {"AtprotoRepo", `{"did":"` + other.DID + `","pds":"` + e.pds.URL + `","access":"Read"}`},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			path, body := groupPath+"/"+resource, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"`+c.kind+`","metadata":{"name":"other"},"spec":`+c.spec+`}`
			made := decode[object](t, w.must(t, request{method: http.MethodPost, path: path, body: body}).body)
			if made.Kind != c.kind || made.Annotations["kcp.io/cluster"] != "kinds" || made.UID == "" {
				t.Errorf("created: %+v", made)
			}
			for _, r := range []request{
				{method: http.MethodPatch, path: path + "/other?fieldManager=m", kind: mergePatch, body: `{"metadata":{"labels":{"merge":"1"}}}`},
				{method: http.MethodPatch, path: path + "/other?fieldManager=m", kind: jsonPatch, body: `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`},
				{method: http.MethodPatch, path: path + "/other?fieldManager=applier&force=true", kind: applyPatch,
					body: "apiVersion: socialweb.computer/v1alpha1\nkind: " + c.kind + "\nmetadata:\n  name: other\n  labels: {apply: \"1\"}\n"},
				{method: http.MethodPatch, path: path + "/other/status?fieldManager=m", kind: mergePatch, body: `{"metadata":{"annotations":{"status":"1"}}}`},
				{path: path + "/other/status"},
			} {
				if got := decode[object](t, w.must(t, r).body); got.UID != made.UID || got.Kind != c.kind {
					t.Errorf("%s %s: %+v", r.method, r.path, got)
				}
			}
			got := decode[object](t, w.must(t, request{path: path + "/other"}).body)
			if encode(t, got.Labels) != `{"apply":"1","json":"1","merge":"1"}` {
				t.Errorf("labels %v", got.Labels)
			}
			table := decode[metav1.Table](t, w.must(t, request{path: path + "?fieldSelector=metadata.name%3Dother", accept: asTable}).body)
			if len(table.Rows) != 1 || table.Rows[0].Cells[0] != "other" {
				t.Errorf("table %+v", table)
			}
			var put object
			waitFor(t, "a put of what is still the newest", func() error { // its status is written meanwhile
				got = decode[object](t, w.must(t, request{path: path + "/other"}).body)
				got.Labels = map[string]string{"put": "1"}
				a := w.do(t, request{method: http.MethodPut, path: path + "/other", body: got})
				if err := a.err(); err != nil {
					return err
				}
				put = decode[object](t, a.body)
				return nil
			})
			if encode(t, put.Labels) != `{"put":"1"}` {
				t.Errorf("put: %+v", put)
			}
			w.must(t, request{method: http.MethodDelete, path: path + "/other"})
			if resource == "computecontracts" { // the controller would, and it isn't there
				w.must(t, request{method: http.MethodPatch, path: path + "/other", kind: mergePatch, body: `{"metadata":{"finalizers":null}}`})
			}
			w.awaitGone(t, path+"/other") // collections and repositories end in steps
		})
	}
}
