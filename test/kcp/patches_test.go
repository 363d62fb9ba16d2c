package kcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// apply sends a server-side apply of an Infra.
func (w *tenant) apply(t testing.TB, name, sub, manager string, force bool, fields string) answer {
	t.Helper()
	return w.send(t, request{
		method: http.MethodPatch, kind: applyPatch, path: fmt.Sprintf("%s/%s%s?fieldManager=%s&force=%t", infras, name, sub, manager, force),
		body: fmt.Sprintf("apiVersion: socialweb.computer/v1alpha1\nkind: Infra\nmetadata: {name: %s}\n%s\n", name, fields),
	})
}

// managed is what a manager owns, as the JSON of its fields.
func managed(i v1alpha1.Infra, manager string, op metav1.ManagedFieldsOperationType, sub string) string {
	for _, m := range i.ManagedFields {
		if m.Manager == manager && m.Operation == op && m.Subresource == sub {
			return m.FieldsV1.GetRawString()
		}
	}
	return ""
}

// TestPatches: merge patch, JSON patch and server-side apply, each on object and
// record, with the managed fields that kcp doesn't keep for virtual resources.
func TestPatches(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "patches")
	w.create(t, "a", "one")
	w.settled(t)

	got := decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPatch, path: infras + "/a?fieldManager=merger", kind: mergePatch,
		body: `{"metadata":{"labels":{"tier":"web"}},"spec":{"description":"merged"}}`}).body)
	if got.Spec.Description != "merged" || got.Labels["tier"] != "web" || got.Generation != 2 || len(got.Spec.Contracts) != 1 {
		t.Errorf("merged: %+v", got)
	}
	if f := managed(got, "merger", metav1.ManagedFieldsOperationUpdate, ""); !strings.Contains(f, `"f:description":{}`) || !strings.Contains(f, `"f:tier":{}`) {
		t.Errorf("fields of the merge patch's manager: %s", f)
	}
	if r := w.record(t, "a"); r["description"] != "merged" || r["labels"] != nil {
		t.Errorf("record after the merge patch: %v", r)
	}

	got = decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: jsonPatch,
		body: `[{"op":"test","path":"/spec/description","value":"merged"},{"op":"add","path":"/spec/contracts/-","value":{"name":"db","state":"Staged"}}]`}).body)
	if len(got.Spec.Contracts) != 2 || got.Spec.Contracts[1].Name != "db" || got.Generation != 3 {
		t.Errorf("JSON patched: %+v", got)
	}
	if r := w.record(t, "a"); encode(t, r["contracts"]) != `[{"name":"web","state":"staged"},{"name":"db","state":"staged"}]` {
		t.Errorf("record after the JSON patch: %v", r)
	}
	w.refused(t, request{method: http.MethodPatch, path: infras + "/a", kind: jsonPatch, body: `[{"op":"test","path":"/spec/description","value":"else"}]`}, http.StatusUnprocessableEntity)
	// As client-side apply sends it.
	got = decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: "application/strategic-merge-patch+json",
		body: `{"spec":{"contracts":[{"$patch":"delete","name":"db"}]}}`}).body)
	if len(got.Spec.Contracts) != 1 || got.Spec.Contracts[0].Name != "web" {
		t.Errorf("strategically merged: %+v", got.Spec)
	}

	if a := w.apply(t, "b", "", "kubectl", false, "spec: {description: applied, contracts: [{name: web}]}"); a.status != http.StatusCreated && (!a.resent || a.status != http.StatusOK) {
		t.Fatalf("apply of what is not there: %d %s", a.status, a.body)
	}
	if r := w.record(t, "b"); r["description"] != "applied" {
		t.Errorf("record of what was applied: %v", r)
	}
	a := w.apply(t, "b", "", "other", false, "spec: {description: of another}")
	if a.status != http.StatusConflict || !strings.Contains(a.fault.Message, `conflict with "kubectl"`) || !strings.Contains(a.fault.Message, ".spec.description") {
		t.Errorf("apply of another's field: %d %s", a.status, a.body)
	}
	if r := w.record(t, "b"); r["description"] != "applied" {
		t.Errorf("record after the conflict: %v", r)
	}
	got = decode[v1alpha1.Infra](t, w.apply(t, "b", "", "other", true, "spec: {description: by force}").body)
	if f := managed(got, "other", metav1.ManagedFieldsOperationApply, ""); got.Spec.Description != "by force" || !strings.Contains(f, "f:description") ||
		strings.Contains(managed(got, "kubectl", metav1.ManagedFieldsOperationApply, ""), "f:description") {
		t.Errorf("applied by force: %+v", got)
	}
	if r := w.record(t, "b"); r["description"] != "by force" {
		t.Errorf("record of what was applied by force: %v", r)
	}
}

// TestStatus: the status subresource changes the status alone, and its public part
// gets into the record.
func TestStatus(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "status")
	w.create(t, "a", "one")
	w.settled(t)

	got := decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPatch, path: infras + "/a/status?fieldManager=controller", kind: mergePatch,
		body: `{"spec":{"description":"not by this"},"status":{"phase":"Deploying","contracts":[{"name":"web","phase":"Requesting"}]}}`}).body)
	if got.Status.Phase != v1alpha1.PhaseDeploying || got.Spec.Description != "one" || got.Generation != 1 {
		t.Errorf("status patched: %+v", got)
	}
	if f := managed(got, "controller", metav1.ManagedFieldsOperationUpdate, "status"); !strings.Contains(f, "f:phase") || strings.Contains(f, "f:description") {
		t.Errorf("fields of the status' manager: %s", f)
	}
	a := w.apply(t, "a", "/status", "applier", true, "status: {phase: Deployed, contracts: [{name: web, phase: Deployed}]}")
	if got = decode[v1alpha1.Infra](t, a.body); a.status != http.StatusOK || got.Status.Phase != v1alpha1.PhaseDeployed {
		t.Errorf("status applied: %d %s", a.status, a.body)
	}
	// By the main resource a status doesn't change.
	w.change(t, "a", func(i *v1alpha1.Infra) { i.Status.Phase, i.Spec.Description = v1alpha1.PhaseReleased, "two" })
	got = decode[v1alpha1.Infra](t, w.must(t, request{path: infras + "/a/status"}).body)
	if got.Status.Phase != v1alpha1.PhaseDeployed || got.Spec.Description != "two" {
		t.Errorf("after a put of the object: %+v", got)
	}
	waitFor(t, "the status in the record", func() error {
		r := w.record(t, "a")
		if s := encode(t, r["status"]); s != `{"contracts":[{"name":"web","phase":"deployed"}],"phase":"deployed"}` || r["description"] != "two" {
			return fmt.Errorf("record %v", r)
		}
		return nil
	})
	w.settled(t)
	obj := w.infra(t, "a")
	obj.Status.Phase, obj.Spec.Description = v1alpha1.PhaseReleasing, "not by this"
	got = decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPut, path: infras + "/a/status", body: obj}).body)
	if got.Status.Phase != v1alpha1.PhaseReleasing || got.Spec.Description != "two" {
		t.Errorf("status put: %+v", got)
	}
}

// TestWhatKCPSkips: unknown fields, defaults and validation, which kcp leaves to the
// server of a virtual resource. What is refused makes no record.
func TestWhatKCPSkips(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "skipped")
	body := func(name, spec string) string {
		return `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	const unknown = `{"description":"x","contracts":[{"name":"web","colour":"red"}]}`
	w.refused(t, request{method: http.MethodPost, path: infras + "?fieldValidation=Strict", body: body("strict", unknown)}, http.StatusBadRequest, `unknown field "spec.contracts[0].colour"`)
	w.refused(t, request{method: http.MethodPost, path: infras + "?fieldValidation=Strict", body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"strict"},"spec":{"description":"x","description":"y"}}`},
		http.StatusBadRequest, `duplicate field "spec.description"`)
	a := w.must(t, request{method: http.MethodPost, path: infras + "?fieldValidation=Warn", body: body("warn", unknown)})
	if warning := a.header.Get("Warning"); !a.resent && !strings.Contains(warning, `unknown field \"spec.contracts[0].colour\"`) || strings.Contains(a.body, "colour") {
		t.Errorf("an unknown field with Warn: %q, %s", warning, a.body)
	}
	a = w.must(t, request{method: http.MethodPost, path: infras + "?fieldValidation=Ignore", body: body("ignore", unknown)})
	if a.header.Get("Warning") != "" {
		t.Errorf("an unknown field with Ignore: %q", a.header)
	}
	got := decode[v1alpha1.Infra](t, a.body)
	if c := got.Spec.Contracts[0]; c.State != v1alpha1.ContractStaged || got.Spec.Record.DeletionPolicy != v1alpha1.DeletionDelete {
		t.Errorf("defaults: %+v", got.Spec)
	}
	if r := w.record(t, "warn"); r == nil || strings.Contains(encode(t, r), "colour") {
		t.Errorf("record of what was warned about: %v", r)
	}

	for _, c := range []struct{ name, spec, word string }{
		{"nameless", `{"contracts":[{"state":"Staged"}]}`, "spec.contracts[0].name: Required value"},
		{"twice", `{"contracts":[{"name":"web"},{"name":"web"}]}`, `spec.contracts[1].name: Duplicate value: "web"`},
		{"state", `{"contracts":[{"name":"web","state":"Running"}]}`, `spec.contracts[0].state: Unsupported value: "Running"`},
		{"long", `{"description":"` + strings.Repeat("x", 4097) + `"}`, "spec.description: Too long"},
		{"repo", `{"record":{"repoRef":{"name":"nowhere"}}}`, "nowhere"},
		{"UPPER", `{}`, "metadata.name: Invalid value"},
	} {
		w.refused(t, request{method: http.MethodPost, path: infras, body: body(c.name, c.spec)}, http.StatusUnprocessableEntity, c.word)
		if r := w.record(t, c.name); r != nil {
			t.Errorf("record of what was refused: %v", r)
		}
	}
	w.refused(t, request{method: http.MethodPatch, path: infras + "/warn", kind: mergePatch, body: `{"spec":{"contracts":[{"name":"web","state":"Running"}]}}`}, http.StatusUnprocessableEntity, "Unsupported value")
	w.refused(t, request{method: http.MethodPatch, path: infras + "/warn?fieldValidation=Strict", kind: mergePatch, body: `{"spec":{"colour":"red"}}`}, http.StatusUnprocessableEntity, `unknown field "spec.colour"`)
	w.refused(t, request{method: http.MethodPost, path: infras, body: `{"kind":"Infra"`}, http.StatusBadRequest)
	w.refused(t, request{method: http.MethodPost, path: infras, kind: "text/plain", body: body("kind", `{}`)}, http.StatusUnsupportedMediaType)

	// A dry run checks all of it, and leaves nothing.
	rev, err := w.account.Rev(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dry := decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPost, path: infras + "?dryRun=All", body: body("dry", `{"contracts":[{"name":"web"}]}`)}).body)
	if dry.Spec.Contracts[0].State != v1alpha1.ContractStaged || dry.UID == "" {
		t.Errorf("dry run: %+v", dry)
	}
	w.refused(t, request{method: http.MethodPost, path: infras + "?dryRun=All", body: body("warn", `{}`)}, http.StatusConflict)
	w.refused(t, request{path: infras + "/dry"}, http.StatusNotFound)
	if now, err := w.account.Rev(t.Context()); err != nil || now != rev {
		t.Errorf("the repository is at %s after dry runs, %v; before: %s", now, err, rev)
	}
}
