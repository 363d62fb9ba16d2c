package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// resources are the paths of every kind.
var resources = map[string]string{
	"Infra": infras, "EphemeralInfra": groupPath + "/ephemeralinfras", "AtprotoRepo": groupPath + "/atprotorepos",
	"InfraCollection": groupPath + "/infracollections", "EphemeralInfraCollection": groupPath + "/ephemeralinfracollections",
	"ComputeContract": groupPath + "/computecontracts",
}

// TestPutWithoutVersionIsRefused: 422, for every kind, as for a custom resource:
// never an overwrite of what nobody looked at.
func TestPutWithoutVersionIsRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	if _, err := e.client.EphemeralInfras().Create(t.Context(), &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[string]string{"Infra": "a", "EphemeralInfra": "a", "AtprotoRepo": repoName} {
		path := resources[kind] + "/" + name
		obj := decode[record](t, e.must(t, request{path: path}).body)
		delete(obj["metadata"].(record), "resourceVersion")
		if a := e.do(t, request{method: http.MethodPut, path: path, body: obj}); a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "resourceVersion") != nil {
			t.Errorf("%s: %d %s", kind, a.status, a.body)
		}
	}
}

// TestGenerationCountsSpecChanges: labels and statuses don't move it, a change of
// the spec does, by one, private parts of the spec and edits made elsewhere too;
// and a PUT of what is there is nothing: no commit, no event, no new version.
func TestGenerationCountsSpecChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		made := e.create(t, newInfra("a", "x"))
		generation := made.Generation
		step := func(what string, by int64, sub, body string) {
			t.Helper()
			e.must(t, request{method: http.MethodPatch, path: infras + "/a" + sub, kind: mergePatch, body: body})
			if generation += by; e.infra(t, "a").Generation != generation {
				t.Errorf("%s: generation %d, want %d", what, e.infra(t, "a").Generation, generation)
			}
		}
		step("label", 0, "", `{"metadata":{"labels":{"l":"x"}}}`)
		step("annotation", 0, "", `{"metadata":{"annotations":{"l":"x"}}}`)
		step("status", 0, "/status", `{"status":{"phase":"Staged"}}`)
		step("declaration", 1, "", `{"spec":{"description":"y"}}`)
		step("secrets", 1, "", `{"spec":{"secrets":[{"contract":"web","secretRef":{"name":"s"}}]}}`)
		step("binding", 1, "", `{"spec":{"record":{"deletionPolicy":"Retain"}}}`)
		step("the same again", 0, "", `{"spec":{"description":"y"}}`)

		waitFor(t, "publishing", func() error { return contains(a.raw(t, "a"), `"phase":"staged"`) }) // so are its contracts
		value, _ := a.get(t, "a")
		value["foreign"] = "field"
		a.put(t, "a", value)
		if got := e.infra(t, "a").Generation; got != generation {
			t.Errorf("a foreign field moved the generation to %d", got)
		}
		value["description"] = "z"
		a.put(t, "a", value)
		if generation++; e.infra(t, "a").Generation != generation {
			t.Errorf("edit made elsewhere: generation %d, want %d", e.infra(t, "a").Generation, generation)
		}

		e.settled(t)
		now, rev := e.infra(t, "a"), a.rev(t)
		w := e.watch(t, infras+"?watch=1&resourceVersion="+now.ResourceVersion)
		after, err := e.client.Infras().Update(t.Context(), now, metav1.UpdateOptions{})
		if err != nil || after.ResourceVersion != now.ResourceVersion || a.rev(t) != rev {
			t.Errorf("PUT of the same: %v, resourceVersion %s after %s, rev %s after %s", err, after.ResourceVersion, now.ResourceVersion, a.rev(t), rev)
		}
		e.create(t, newInfra("next", "x"))
		if ev, _ := w.next(patience); ev.infra(t).Name != "next" {
			t.Errorf("an event of a PUT that changed nothing: %s", ev.Object)
		}
	})
}

// TestGenerateName: 200 parallel creations with a generated name are 200 objects,
// whose names are record keys.
func TestGenerateName(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	var g errgroup.Group
	g.SetLimit(20)
	const n = 200
	for range n {
		g.Go(func() error {
			obj := newInfra("", "x")
			obj.GenerateName = "n-"
			_, err := e.client.Infras().Create(t.Context(), obj, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	names := keys(e.account.records(t))
	if len(names) != n {
		t.Errorf("%d records", len(names))
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "n-") || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("name %q", name)
		}
	}
	if err := e.agree(t); err != nil {
		t.Error(err)
	}
}

// TestStatusIsItsOwn: the main resource doesn't write the status, the status
// subresource writes nothing else, and neither writes status.record.
func TestStatusIsItsOwn(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	obj := newInfra("a", "x")
	obj.Status.Phase = v1alpha1.PhaseDeployed
	made := e.create(t, obj)
	if made.Status.Phase != "" {
		t.Errorf("a creation set the phase %q", made.Status.Phase)
	}
	e.settled(t)
	made = e.infra(t, "a")
	made.Status.Phase = v1alpha1.PhaseDeployed
	made.Labels = map[string]string{"main": "yes"}
	got, err := e.client.Infras().Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil || got.Status.Phase != "" || got.Labels["main"] != "yes" {
		t.Errorf("PUT: %+v, %v", got, err)
	}
	e.settled(t)
	got = e.infra(t, "a")
	record := *got.Status.Record
	got.Status.Phase = v1alpha1.PhaseDeployed
	got.Status.Record = &v1alpha1.RecordStatus{URI: "at://did:web:x.example/" + infraCollection + "/x", CID: "forged"}
	got.Spec.Description, got.Labels, got.Finalizers = "y", map[string]string{"status": "yes"}, []string{"example.com/f"}
	got, err = e.client.Infras().UpdateStatus(t.Context(), got, metav1.UpdateOptions{})
	if err != nil || got.Status.Phase != v1alpha1.PhaseDeployed || got.Spec.Description != "x" || got.Labels["status"] != "" ||
		len(got.Finalizers) > 0 || got.Status.Record.URI != record.URI || got.Status.Record.CID != record.CID {
		t.Errorf("PUT of the status: %+v, %v", got, err)
	}
	if a := e.do(t, request{method: http.MethodPatch, path: infras + "/none/status?fieldManager=m", kind: applyPatch,
		body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"none"},"status":{"phase":"Staged"}}`}); a.status != http.StatusNotFound {
		t.Errorf("apply of the status of nothing: %d %s", a.status, a.body)
	}
}

// TestLargeObjects: what is too large is refused as such, with a text, before
// anything was written; what is just below is served.
func TestLargeObjects(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	sized := func(contracts int) record {
		m := manifest("big", "x")
		var list []any
		for i := range contracts {
			list = append(list, record{"name": fmt.Sprintf("c%d", i), "userData": strings.Repeat("u", 16000)})
		}
		m["spec"].(record)["contracts"] = list
		return m
	}
	post := func(body any) answer { return e.do(t, request{method: http.MethodPost, path: infras, body: body}) }
	if a := post(sized(200)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("3.2 MB: %d %.300s", a.status, a.body)
	}
	if a := post(sized(93)); a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "400000") != nil {
		t.Errorf("1.5 MB: %d %.300s", a.status, a.body)
	}
	e.shows(t, "after what was too large")
	if a := post(sized(24)); a.status != http.StatusCreated {
		t.Errorf("390 kB: %d %.300s", a.status, a.body)
	}
	// What another client keeps in the record counts too: only the PDS can tell.
	value := infraRecord("x")
	value["theirs"] = strings.Repeat("t", 900_000)
	e.account.put(t, "heavy", value)
	if got := e.infra(t, "heavy"); got.Spec.Description != "x" {
		t.Errorf("heavy: %+v", got)
	}
	e.must(t, request{method: http.MethodPatch, path: infras + "/heavy", kind: mergePatch, body: `{"spec":{"description":"y"}}`})
	body := sized(12)
	if a := e.do(t, request{method: http.MethodPatch, path: infras + "/heavy", kind: mergePatch, body: record{"spec": body["spec"]}}); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("1.1 MB in the record: %d %.300s", a.status, a.body)
	}
	now, _ := e.account.get(t, "heavy")
	if now["theirs"] != value["theirs"] || now["description"] != "y" {
		t.Error("the heavy record changed")
	}
	e.must(t, request{method: http.MethodPatch, path: infras + "/heavy", kind: mergePatch, body: `{"metadata":{"labels":{"l":"x"}}}`})
}
