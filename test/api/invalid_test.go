package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// invalidCase is one record of the corpus that is not valid.
type invalidCase struct {
	Name   string `json:"name"`
	Field  string `json:"field"`
	Record record `json:"record"`

	rkey, collection, path string
	cid, raw               string
}

// invalidCases are those of the corpus that a PDS stores at all.
func invalidCases(t *testing.T, a *account) []*invalidCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "pkg", "registry", "socialweb", "record", "testdata", "invalid.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all, out []*invalidCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for i, c := range all {
		c.rkey, c.collection, c.path = fmt.Sprintf("c%d", i), infraCollection, infras+"/"
		if strings.HasPrefix(c.Name, "ephemeral") {
			c.collection, c.path = ephemeralCollection, groupPath+"/ephemeralinfras/"
		}
		c.path += c.rkey
		r, err := a.call(t.Context(), "com.atproto.repo.putRecord", nil,
			record{"repo": a.DID, "collection": c.collection, "rkey": "try", "record": c.Record, "validate": false})
		if err != nil {
			t.Fatal(err)
		}
		if r.status != http.StatusOK {
			t.Logf("the PDS itself refuses %q: %s", c.Name, r.raw)
			continue
		}
		a.must(t, "com.atproto.repo.deleteRecord", nil, record{"repo": a.DID, "collection": c.collection, "rkey": "try"})
		out = append(out, c)
	}
	if len(out) < 40 {
		t.Fatalf("%d invalid records, want 40", len(out))
	}
	return out
}

// spoil puts the invalid record.
func (c *invalidCase) spoil(t *testing.T, a *account) {
	t.Helper()
	c.cid = a.putIn(t, c.collection, c.rkey, c.Record)
	c.raw = c.now(t, a)
}

func (c *invalidCase) now(t *testing.T, a *account) string {
	t.Helper()
	r, err := a.read(t.Context(), c.collection, c.rkey)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.raw)
}

// valid is the record that the case's object starts with, or is mended to.
func (c *invalidCase) valid(description string) record {
	r := infraRecord(description)
	r["$type"] = c.collection
	return r
}

// mended checks that the object follows its record again.
func (c *invalidCase) mended(t *testing.T, e *env) {
	t.Helper()
	e.account.putIn(t, c.collection, c.rkey, c.valid("mended"))
	got := decode[v1alpha1.Infra](t, e.must(t, request{path: c.path}).body)
	if cond := condition(&got, v1alpha1.ConditionRecordValid); cond.Status != "True" || got.Spec.Description != "mended" {
		t.Errorf("%s: mended: %q, %+v", c.Name, got.Spec.Description, cond)
	}
	if got.Labels["kept"] != "yes" || got.Status.Phase != v1alpha1.PhaseDeploying {
		t.Errorf("%s: mended: labels %v, phase %q", c.Name, got.Labels, got.Status.Phase)
	}
	e.must(t, request{method: http.MethodPatch, path: c.path, kind: mergePatch, body: `{"spec":{"description":"written"}}`})
	waitFor(t, c.Name+": publishing", func() error { return contains(c.now(t, e.account), "deploying", "written") })
}

// refuses checks an object whose record is not valid: the declaration is as it was,
// the condition says why, writes of the declaration are refused with the remedy,
// others kept, and the record is not touched.
func (c *invalidCase) refuses(t *testing.T, e *env, description string) {
	t.Helper()
	got := decode[v1alpha1.Infra](t, e.must(t, request{path: c.path}).body)
	cond := condition(&got, v1alpha1.ConditionRecordValid)
	if got.Spec.Description != description || cond.Status != "False" || cond.Reason != v1alpha1.ReasonInvalidRecord {
		t.Errorf("%s: %q, %+v", c.Name, got.Spec.Description, cond)
	}
	if err := contains(cond.Message, c.cid, c.Field); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	}
	patch := func(sub, body string) answer {
		return e.do(t, request{method: http.MethodPatch, path: c.path + sub, kind: mergePatch, body: body})
	}
	a := patch("", `{"spec":{"description":"overwritten"}}`)
	if a.status != http.StatusConflict || contains(a.failure.Message, "mend", "at://"+e.account.DID, c.Field) != nil {
		t.Errorf("%s: a write of the declaration: %d %s", c.Name, a.status, a.body)
	}
	if a := patch("", `{"metadata":{"labels":{"kept":"yes"}}}`); a.status != http.StatusOK {
		t.Errorf("%s: a label: %d %s", c.Name, a.status, a.body)
	}
	if a := patch("/status", `{"status":{"phase":"Deploying"}}`); a.status != http.StatusOK {
		t.Errorf("%s: a status: %d %s", c.Name, a.status, a.body)
	}
	if a := e.do(t, request{path: infras}); a.status != http.StatusOK || contains(a.body, `"name":"good"`) != nil {
		t.Errorf("%s: LIST: %d", c.Name, a.status)
	}
}

// TestRecordsThatBecomeInvalid: every record of the corpus, put in place of a valid
// one, and mended in the end. They are all invalid at once.
func TestRecordsThatBecomeInvalid(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	cases := invalidCases(t, e.account)
	e.create(t, newInfra("good", "one"))
	for _, c := range cases {
		body := manifest(c.rkey, "last valid")
		if c.collection == ephemeralCollection {
			body["kind"] = "EphemeralInfra"
		}
		e.must(t, request{method: http.MethodPost, path: strings.TrimSuffix(c.path, "/"+c.rkey), body: body})
	}
	w := e.watch(t, infras+"?watch=1&resourceVersion="+e.rv(t))
	for _, c := range cases {
		c.spoil(t, e.account)
		c.refuses(t, e, "last valid")
		if c.collection == infraCollection {
			w.until(t, c.rkey, func(i *v1alpha1.Infra) bool {
				return condition(i, v1alpha1.ConditionRecordValid).Status == "False" && i.Spec.Description == "last valid"
			})
		}
	}
	e.must(t, request{method: http.MethodPatch, path: infras + "/good", kind: mergePatch, body: `{"spec":{"description":"two"}}`})
	e.account.put(t, "good", infraRecord("three"))
	w.until(t, "good", func(i *v1alpha1.Infra) bool { return i.Spec.Description == "three" })
	for _, c := range cases {
		if now := c.now(t, e.account); now != c.raw {
			t.Errorf("%s: the record was touched: %s, was %s", c.Name, now, c.raw)
		}
	}
	for _, c := range cases {
		c.mended(t, e)
	}
}

// TestRecordsThatAreInvalidWhenFirstSeen: they are shown, with nothing declared,
// follow their records once these are mended, and can be deleted.
func TestRecordsThatAreInvalidWhenFirstSeen(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	cases := invalidCases(t, e.account)
	e.create(t, newInfra("good", "one"))
	for i, c := range cases {
		c.spoil(t, e.account)
		c.refuses(t, e, "")
		if now := c.now(t, e.account); now != c.raw {
			t.Errorf("%s: the record was touched: %s, was %s", c.Name, now, c.raw)
		}
		if i%2 == 0 {
			c.mended(t, e)
			continue
		}
		if a := e.do(t, request{method: http.MethodDelete, path: c.path}); a.status != http.StatusOK {
			t.Errorf("%s: DELETE: %d %s", c.Name, a.status, a.body)
		}
		if now := c.now(t, e.account); strings.Contains(now, c.cid) {
			t.Errorf("%s: deleted, and still there: %s", c.Name, now)
		}
	}
}
