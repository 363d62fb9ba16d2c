package kcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	v1alpha1client "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// workspaces that are there at once in TestManyWorkspaces.
const workspaces = 20

// lifecycle is what a user does in a workspace that binds the export, and what is at
// the PDS meanwhile. It goes through a recorded shard, and through a real kcp, which lets
// no tenant write a status: controller is the client that does.
func lifecycle(t *testing.T, w *tenant, controller v1alpha1client.SocialwebV1alpha1Interface) {
	t.Helper()
	mine := "in " + w.name
	made := w.create(t, "same", mine)
	if made.Annotations["kcp.io/cluster"] == "" || made.Spec.Record == nil || made.Spec.Record.RepoRef.Name != repoName {
		t.Errorf("%s: created: %+v", w.name, made)
	}
	if r := w.record(t, "same"); r["description"] != mine {
		t.Errorf("%s: record %v", w.name, r)
	}
	w.settled(t)
	list, err := w.client.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Spec.Description != mine {
		t.Errorf("%s: listed %+v", w.name, list.Items)
	}
	events := w.watch(t, infras+"?watch=1&resourceVersion="+list.ResourceVersion)

	if _, err := w.account.Edit(t.Context(), collection, "same", func(r map[string]any) { r["description"], r["theirs"] = "edited "+mine, true }); err != nil {
		t.Fatal(err)
	}
	if got := w.infra(t, "same"); got.Spec.Description != "edited "+mine || got.UID != made.UID {
		t.Errorf("%s: after an edit on the PDS: %+v", w.name, got)
	}
	events.change(t, "MODIFIED", "same", "edited "+mine)
	w.account.Put(t, collection, "by-the-pds", newRecord("record "+mine))
	events.change(t, "ADDED", "by-the-pds", "record "+mine)

	for kind, patch := range map[types.PatchType]string{
		types.MergePatchType: `{"spec":{"description":"patched ` + mine + `"}}`,
		types.JSONPatchType:  `[{"op":"add","path":"/metadata/labels","value":{"json":"yes"}}]`,
		types.ApplyPatchType: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"same","labels":{"apply":"yes"}}}`,
	} {
		if _, err := w.client.Infras().Patch(t.Context(), "same", kind, []byte(patch), metav1.PatchOptions{FieldManager: "suite"}); err != nil {
			t.Fatalf("%s: %s: %v", w.name, kind, err)
		}
	}
	if r := w.record(t, "same"); r["description"] != "patched "+mine || r["theirs"] != true {
		t.Errorf("%s: record after the patch: %v", w.name, r)
	}
	table := decode[metav1.Table](t, w.must(t, request{path: infras, accept: asTable}).body)
	if len(table.Rows) != 2 || table.Rows[0].Cells[0] != "by-the-pds" || table.Rows[1].Cells[0] != "same" {
		t.Errorf("%s: table %+v", w.name, table.Rows)
	}
	if _, err := controller.Infras().Patch(t.Context(), "same", types.MergePatchType, []byte(`{"status":{"phase":"Deployed"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatalf("%s: status: %v", w.name, err)
	}
	waitFor(t, w.name+": the status in the record", func() error {
		if s, _ := w.record(t, "same")["status"].(map[string]any); s["phase"] != "deployed" {
			return fmt.Errorf("status %v", s)
		}
		return nil
	})
	w.remove(t, "same")
	events.change(t, "DELETED", "same", "patched "+mine)
	if r := w.record(t, "same"); r != nil {
		t.Errorf("%s: record of what was deleted: %v", w.name, r)
	}
	w.refused(t, request{path: infras + "/same"}, http.StatusNotFound)
	for _, l := range events.Seen() {
		if !strings.Contains(l, mine) {
			t.Errorf("%s: event %s", w.name, l)
		}
	}
}

// TestManyWorkspaces: the same, in many workspaces at once, over one connection. All of
// them together are what a controller sees by the asterisk. They have the PDS for
// themselves.
func TestManyWorkspaces(t *testing.T) {
	e := start(t)
	everyone := (&tenant{shard: e.shard, base: prefix + "/clusters/%2A", name: "%2A"}).watch(t, infras+"?watch=1&resourceVersion=0&allowWatchBookmarks=true")
	names := map[string]bool{}
	t.Run("all", func(t *testing.T) {
		for i := range workspaces {
			name := fmt.Sprintf("many-%02d", i)
			names[name] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := e.tenant(t, name)
				lifecycle(t, w, w.client)
			})
		}
	})
	if t.Failed() {
		return
	}
	// As a shard asks, and as a controller does.
	for _, path := range []string{infras, infras + "?resourceVersion=0", infras + "?limit=5"} {
		seen := map[string]string{}
		for cont := ""; ; {
			l := decode[v1alpha1.InfraList](t, e.all(t, path+cont).body)
			for _, o := range l.Items {
				if ws := o.Annotations["kcp.io/cluster"]; names[ws] {
					seen[ws] += o.Name + " " + o.Spec.Description
				}
			}
			if l.Continue == "" {
				break
			}
			cont = "&continue=" + l.Continue
		}
		for name := range names {
			if seen[name] != "by-the-pds record in "+name {
				t.Errorf("%s shows of %s %q", path, name, seen[name])
			}
		}
	}
	deleted := map[string]bool{}
	everyone.until(t, "the deletion in each workspace", func(ev event) bool {
		if ev.Type == "DELETED" {
			if o := ev.infra(t); o.Name == "same" && names[o.Annotations["kcp.io/cluster"]] {
				deleted[o.Annotations["kcp.io/cluster"]] = true
			}
		}
		return len(deleted) == len(names)
	})
}

// all reads what all workspaces have.
func (e *env) all(t testing.TB, path string) answer {
	t.Helper()
	a := e.shard.do(t, request{path: prefix + "/clusters/%2A" + path})
	if a.status != http.StatusOK {
		t.Fatalf("%s of all workspaces: %d %s", path, a.status, a.body)
	}
	return a
}
