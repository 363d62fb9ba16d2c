package kubectl

import (
	"encoding/json"
	"strings"
	"testing"
)

func testCreateGetList(t *testing.T, e env) {
	e.create(t, "create-1")
	e.create(t, "create-2")
	if got := e.record(t, "create-1")["description"]; got != "of create-1" {
		t.Errorf("description in the record: %v", got)
	}
	if got := e.field(t, "create-1", ".spec.description"); got != "of create-1" {
		t.Errorf("description: %q", got)
	}
	if got := e.field(t, "create-1", ".status.record.uri"); got != "at://"+e.Repo.DID()+"/"+collection+"/create-1" {
		t.Errorf("uri: %q", got)
	}
	for _, list := range []string{"infras", "infra", "inf", "infras.socialweb.computer", "infras.v1alpha1.socialweb.computer", "socialweb"} {
		out := e.k.Run(t, "get", list, "-o", "name")
		for _, want := range []string{"infra.socialweb.computer/create-1\n", "infra.socialweb.computer/create-2\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("get %s: %q lacks %q", list, out, want)
			}
		}
	}
	if err := e.k.Fails(t, manifest("create-1", "again"), "create", "-f", "-"); !strings.Contains(err, "AlreadyExists") {
		t.Errorf("creating it again: %s", err)
	}
	if err := e.k.Fails(t, "", "get", "infra", "nobody"); !strings.Contains(err, "NotFound") {
		t.Errorf("getting what is not there: %s", err)
	}
	out := e.k.RunIn(t, strings.Replace(manifest("x", "generated"), `"name":"x"`, `"generateName":"gen-"`, 1), "create", "-f", "-", "-o", "name")
	name := strings.TrimPrefix(strings.TrimSpace(out), "infra.socialweb.computer/")
	t.Cleanup(func() { e.remove(t, name) })
	if !strings.HasPrefix(name, "gen-") || e.record(t, name) == nil {
		t.Errorf("generated name %q, record %v", name, e.record(t, name))
	}
}

func testApply(t *testing.T, e env) {
	t.Cleanup(func() { e.remove(t, "apply") })
	if out := e.k.RunIn(t, manifest("apply", "one"), "apply", "-f", "-"); !strings.Contains(out, "created") {
		t.Errorf("first apply: %s", out)
	}
	e.settle(t, "apply")
	before := e.rev(t)
	if out := e.k.RunIn(t, manifest("apply", "one"), "apply", "-f", "-"); !strings.Contains(out, "unchanged") {
		t.Errorf("same apply: %s", out)
	}
	if r := e.k.Do(t, manifest("apply", "one"), "diff", "-f", "-"); r.Code != 0 {
		t.Errorf("diff of what is there: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := e.k.Do(t, manifest("apply", "two"), "diff", "-f", "-"); r.Code != 1 || !strings.Contains(r.Out, "+  description: two") {
		t.Errorf("diff of a change: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if after := e.rev(t); after != before {
		t.Errorf("apply of the same and diff made a commit: %s, %s", before, after)
	}
	if out := e.k.RunIn(t, manifest("apply", "two"), "apply", "-f", "-"); !strings.Contains(out, "configured") {
		t.Errorf("changed apply: %s", out)
	}
	if got := e.record(t, "apply")["description"]; got != "two" {
		t.Errorf("description in the record: %v", got)
	}
	if _, ok := e.record(t, "apply")["annotations"]; ok {
		t.Error("the record has annotations")
	}
}

func testServerSideApply(t *testing.T, e env) {
	t.Cleanup(func() { e.remove(t, "ssa") })
	apply := func(manager string, more ...string) []string {
		return append([]string{"apply", "--server-side", "--field-manager=" + manager, "-f", "-"}, more...)
	}
	e.k.RunIn(t, manifest("ssa", "m1"), apply("m1")...)
	err := e.k.Fails(t, manifest("ssa", "m2"), apply("m2")...)
	if !strings.Contains(err, `"m1"`) || !strings.Contains(err, ".spec.description") {
		t.Errorf("the conflict names neither the manager nor the field: %s", err)
	}
	e.k.RunIn(t, manifest("ssa", "m2"), apply("m2", "--force-conflicts")...)
	if got := e.record(t, "ssa")["description"]; got != "m2" {
		t.Errorf("description in the record: %v", got)
	}
	e.k.Run(t, "patch", "infra", "ssa", "--subresource=status", "--type=merge", "--field-manager=controller", "-p", `{"status":{"phase":"Staged"}}`)
	var obj struct {
		Metadata struct {
			ManagedFields []struct {
				Manager, Subresource string
				FieldsV1             json.RawMessage
			}
		}
	}
	out := e.k.Run(t, "get", "infra", "ssa", "-o", "json", "--show-managed-fields")
	if err := json.Unmarshal([]byte(out), &obj); err != nil {
		t.Fatal(err)
	}
	managers := map[string]string{}
	for _, f := range obj.Metadata.ManagedFields {
		managers[f.Manager+"/"+f.Subresource] = string(f.FieldsV1)
	}
	if !strings.Contains(managers["m2/"], "f:description") || strings.Contains(managers["m1/"], "f:description") {
		t.Errorf("the description's owner: %v", managers)
	}
	if got := managers["controller/status"]; !strings.Contains(got, "f:phase") || strings.Contains(got, "f:spec") {
		t.Errorf("what the status write owns: %q", got)
	}
	e.settle(t, "ssa")
	before := e.field(t, "ssa", ".metadata.resourceVersion")
	e.k.RunIn(t, manifest("ssa", "m2"), apply("m2")...)
	if after := e.field(t, "ssa", ".metadata.resourceVersion"); after != before {
		t.Errorf("an apply that changes nothing moved resourceVersion from %s to %s", before, after)
	}
}

func testPatch(t *testing.T, e env) {
	e.create(t, "patch")
	for kind, p := range map[string]string{
		"merge":     `{"spec":{"description":"merge"}}`,
		"json":      `[{"op":"replace","path":"/spec/description","value":"json"}]`,
		"strategic": `{"spec":{"description":"strategic"}}`,
	} {
		e.k.Run(t, "patch", "infra", "patch", "--type="+kind, "-p", p)
		if got := e.field(t, "patch", ".spec.description"); got != kind {
			t.Errorf("%s patch: description %q", kind, got)
		}
		if got := e.record(t, "patch")["description"]; got != kind {
			t.Errorf("%s patch: description in the record %v", kind, got)
		}
	}
	err := e.k.Fails(t, "", "patch", "infra", "patch", "--type=json", "-p", `[{"op":"test","path":"/spec/description","value":"other"}]`)
	if !strings.Contains(err, "invalid") || e.field(t, "patch", ".spec.description") == "other" {
		t.Errorf("a failed test operation: %s", err)
	}
}

func testEditReplace(t *testing.T, e env) {
	e.create(t, "edit")
	editor := e.k.With(`KUBE_EDITOR=sed -i s/"of edit"/edited/`)
	editor.Run(t, "edit", "infra", "edit")
	if got := e.record(t, "edit")["description"]; got != "edited" {
		t.Errorf("description in the record after an edit: %v", got)
	}
	e.settle(t, "edit")
	full := e.k.Run(t, "get", "infra", "edit", "-o", "json")
	e.k.RunIn(t, strings.ReplaceAll(full, `"edited"`, `"replaced"`), "replace", "-f", "-")
	if got := e.record(t, "edit")["description"]; got != "replaced" {
		t.Errorf("description in the record after a replace: %v", got)
	}
	if err := e.k.Fails(t, full, "replace", "-f", "-"); !strings.Contains(err, "Conflict") {
		t.Errorf("a stale replace: %s", err)
	}
	if got := e.field(t, "edit", ".spec.description"); got != "replaced" {
		t.Errorf("a stale replace changed the description to %q", got)
	}
}

func testLabelAnnotate(t *testing.T, e env) {
	e.create(t, "label")
	e.settle(t, "label")
	before := e.rev(t)
	e.k.Run(t, "label", "infra", "label", "tier=gold")
	e.k.Run(t, "annotate", "infra", "label", "note=private")
	if got := e.field(t, "label", ".metadata.labels.tier") + e.field(t, "label", ".metadata.annotations.note"); got != "goldprivate" {
		t.Errorf("label and annotation: %q", got)
	}
	if err := e.k.Fails(t, "", "label", "infra", "label", "tier=lead"); !strings.Contains(err, "already has a value") {
		t.Errorf("labelling over: %s", err)
	}
	e.k.Run(t, "label", "infra", "label", "tier-")
	if after := e.rev(t); after != before {
		t.Errorf("labels and annotations made a commit: %s, %s", before, after)
	}
	if err := e.k.Fails(t, "", "annotate", "infra", "label", "--overwrite", "kcp.io/cluster=other"); !strings.Contains(err, "immutable") {
		t.Errorf("moving it to another workspace: %s", err)
	}
}

func testGeneration(t *testing.T, e env) {
	e.create(t, "generation")
	state := func() string { return e.field(t, "generation", ".metadata.generation") }
	for _, step := range []struct{ what, patch, sub, want string }{
		{"a label", `{"metadata":{"labels":{"a":"b"}}}`, "", "1"},
		{"a status", `{"status":{"phase":"Staged"}}`, "status", "1"},
		{"a spec", `{"spec":{"description":"new"}}`, "", "2"},
		{"nothing", `{"spec":{"description":"new"}}`, "", "2"},
		{"a secret", `{"spec":{"secrets":[{"contract":"web","secretRef":{"name":"s"}}]}}`, "", "3"},
	} {
		args := []string{"patch", "infra", "generation", "--type=merge", "-p", step.patch}
		if step.sub != "" {
			args = append(args, "--subresource="+step.sub)
		}
		e.k.Run(t, args...)
		if got := state(); got != step.want {
			t.Errorf("after a patch of %s: generation %s, want %s", step.what, got, step.want)
		}
	}
	if text, err := json.Marshal(e.record(t, "generation")); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the record knows of secrets: %s %v", text, err)
	}
	e.settle(t, "generation")
	rev, rv := e.rev(t), e.field(t, "generation", ".metadata.resourceVersion")
	e.k.RunIn(t, e.k.Run(t, "get", "infra", "generation", "-o", "json"), "replace", "-f", "-")
	if e.rev(t) != rev || e.field(t, "generation", ".metadata.resourceVersion") != rv {
		t.Error("a replace by the same made a commit or an event")
	}
}
