package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const strategicPatch = "application/strategic-merge-patch+json"

// plainKind is a kind that etcd alone keeps: what its objects may say.
type plainKind struct {
	kind, finalizer string
	spec, again     string // a spec, and one that it may be changed to
	frozen, field   string // a merge patch that is refused, and the field that it names
	status          string // fields of a status
}

var plainKinds = []plainKind{
	{
		"ComputeContract", v1alpha1.FinalizerRelease,
		`{"image":"one","policyArgs":["a"]}`, `{"image":"one","policyArgs":["a"],"release":true}`,
		`{"spec":{"image":"two"}}`, "spec.image", `"phase":"Requesting"`,
	},
	{
		"InfraCollection", v1alpha1.FinalizerChildren,
		`{"repoRef":{"name":"none"}}`, `{"repoRef":{"name":"none"},"maxItems":7}`,
		`{"spec":{"repoRef":{"name":"other"}}}`, "spec.repoRef.name", `"items":3`,
	},
	{
		"EphemeralInfraCollection", v1alpha1.FinalizerChildren,
		`{"repoRef":{"name":"none"}}`, `{"repoRef":{"name":"none"},"execution":"ObserveOnly"}`,
		`{"spec":{"maxItems":10001}}`, "spec.maxItems", `"items":3`,
	},
}

func (k plainKind) path() string { return resources[k.kind] }

// manifest has the metadata and parts that are given, as JSON.
func (k plainKind) manifest(metadata, parts string) string {
	return fmt.Sprintf(`{"apiVersion":"socialweb.computer/v1alpha1","kind":%q,"metadata":{%s},%s}`, k.kind, metadata, parts)
}

// plainObject is what the tests look at.
type plainObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec, Status      record
}

// conditions of the object, by type.
func (o plainObject) conditions() record {
	out := record{}
	list, _ := o.Status["conditions"].([]any)
	for _, c := range list {
		out[c.(record)["type"].(string)] = c.(record)["status"]
	}
	return out
}

// TestPlainKinds: what Kubernetes has for every kind, these have too: names, dry runs,
// selectors, strictness, ownership of fields, the status apart, finalizers.
func TestPlainKinds(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, k := range plainKinds {
		t.Run(k.kind, func(t *testing.T) {
			k.names(t, s)
			k.fields(t, s)
			k.statuses(t, s)
			k.ends(t, s)
		})
	}
}

func (k plainKind) names(t *testing.T, s *server) {
	t.Helper()
	body := k.manifest(`"generateName":"n-","labels":{"set":"names"}`, `"spec":`+k.spec)
	dry := decode[plainObject](t, s.must(t, request{method: http.MethodPost, path: k.path() + "?dryRun=All", body: body}).body)
	one := decode[plainObject](t, s.must(t, request{method: http.MethodPost, path: k.path(), body: body}).body)
	two := decode[plainObject](t, s.must(t, request{method: http.MethodPost, path: k.path(), body: body}).body)
	for _, o := range []plainObject{dry, one, two} {
		if !strings.HasPrefix(o.Name, "n-") || o.UID == "" || o.Generation != 1 || o.Annotations["kcp.io/cluster"] != "default" || fmt.Sprint(o.Finalizers) != "["+k.finalizer+"]" {
			t.Errorf("created %+v", o.ObjectMeta)
		}
	}
	for query, want := range map[string]int{
		"labelSelector=set%3Dnames": 2, "labelSelector=set%3Dnames&fieldSelector=metadata.name%3D" + one.Name: 1,
		"labelSelector=set%3Dnames&fieldSelector=metadata.name!%3D" + two.Name: 1, "fieldSelector=metadata.name%3D" + dry.Name: 0,
	} {
		if got := decode[list](t, s.must(t, request{path: k.path() + "?" + query}).body); len(got.Items) != want {
			t.Errorf("%s: %d items, want %d", query, len(got.Items), want)
		}
	}
	if a := s.do(t, request{path: k.path() + "?fieldSelector=status.phase%3Dx"}); a.status != http.StatusBadRequest || contains(a.failure.Message, "status.phase") != nil {
		t.Errorf("another selector: %d %s", a.status, a.body)
	}
	strict := s.do(t, request{method: http.MethodPost, path: k.path() + "?fieldValidation=Strict", body: k.manifest(`"name":"strict"`, `"spec":{"nope":1}`)})
	if strict.status != http.StatusBadRequest || contains(strict.failure.Message, `"spec.nope"`) != nil {
		t.Errorf("an unknown field: %d %s", strict.status, strict.body)
	}
}

func (k plainKind) fields(t *testing.T, s *server) {
	t.Helper()
	apply := func(manager, query, spec string) answer {
		return s.do(t, request{method: http.MethodPatch, kind: applyPatch, path: k.path() + "/a?fieldManager=" + manager + query, body: k.manifest(`"name":"a"`, `"spec":`+spec)})
	}
	if a := apply("m", "&dryRun=All", k.spec); a.status != http.StatusCreated {
		t.Fatalf("apply, dry run: %d %s", a.status, a.body)
	}
	if a := apply("m", "", k.spec); a.status != http.StatusCreated {
		t.Fatalf("apply: %d %s", a.status, a.body)
	}
	if a := apply("m", "&dryRun=All", k.again); a.status != http.StatusOK || decode[plainObject](t, a.body).Generation != 2 {
		t.Errorf("apply of a change, dry run: %d %s", a.status, a.body)
	}
	if a := apply("m", "", k.spec); decode[plainObject](t, a.body).Generation != 1 {
		t.Errorf("apply of the same: %d %s", a.status, a.body)
	}
	if a := apply("m", "", k.again); a.status != http.StatusOK || decode[plainObject](t, a.body).Generation != 2 {
		t.Errorf("apply of a change: %d %s", a.status, a.body)
	}
	other := s.do(t, request{method: http.MethodPatch, path: k.path() + "/a", kind: mergePatch, body: k.frozen})
	if other.status != http.StatusUnprocessableEntity || contains(other.failure.Message, k.field) != nil {
		t.Errorf("%s: %d %s", k.frozen, other.status, other.body)
	}
	conflict := apply("n", "", strings.Replace(strings.Replace(k.spec, "one", "two", 1), "none", "other", 1))
	if conflict.status != http.StatusConflict || contains(conflict.failure.Message, `"m"`) != nil {
		t.Errorf("apply of another's field: %d %s", conflict.status, conflict.body)
	}
}

func (k plainKind) statuses(t *testing.T, s *server) {
	t.Helper()
	path := k.path() + "/a/status"
	patch := func(kind, query, body string) plainObject {
		t.Helper()
		return decode[plainObject](t, s.must(t, request{method: http.MethodPatch, kind: kind, path: path + query, body: body}).body)
	}
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Test","message":"","lastTransitionTime":"2026-11-30T03:00:00Z"}`, kind, status)
	}
	o := patch(applyPatch, "?fieldManager=controller&force=true&dryRun=All", k.manifest(`"name":"a"`, `"status":{`+k.status+`}`))
	if len(o.Status) < 1 {
		t.Errorf("status applied, dry run: %v", o.Status)
	}
	o = patch(applyPatch, "?fieldManager=controller&force=true", k.manifest(`"name":"a"`, `"status":{`+k.status+`,"conditions":[`+condition("One", "False")+`]}`))
	if o.Generation != 2 || o.conditions()["One"] != "False" {
		t.Errorf("status applied: generation %d, %v", o.Generation, o.Status)
	}
	// Conditions merge by their type, and belong to who writes them.
	o = patch(applyPatch, "?fieldManager=other", k.manifest(`"name":"a"`, `"status":{"conditions":[`+condition("Two", "True")+`]}`))
	if c := o.conditions(); c["One"] != "False" || c["Two"] != "True" {
		t.Errorf("another's condition applied: %v", o.Status)
	}
	o = patch(strategicPatch, "", `{"spec":{"nope":1},"metadata":{"labels":{"by":"status"}},"status":{"observedGeneration":2,"conditions":[`+condition("One", "True")+`]}}`)
	if c := o.conditions(); c["One"] != "True" || c["Two"] != "True" || o.Status["observedGeneration"] != 2.0 || o.Labels["by"] != "" || o.Generation != 2 {
		t.Errorf("strategic merge patch: %+v", o)
	}
	main := decode[plainObject](t, s.must(t, request{method: http.MethodPatch, kind: mergePatch, path: k.path() + "/a", body: `{"status":{"observedGeneration":9}}`}).body)
	if main.Status["observedGeneration"] != 2.0 {
		t.Errorf("the main resource wrote the status: %v", main.Status)
	}
	if a := s.do(t, request{method: http.MethodPatch, kind: applyPatch, path: k.path() + "/nothing/status?fieldManager=m", body: k.manifest(`"name":"nothing"`, `"status":{`+k.status+`}`)}); a.status != http.StatusNotFound {
		t.Errorf("apply of the status of nothing: %d %s", a.status, a.body)
	}
	if a := s.do(t, request{method: http.MethodPatch, kind: mergePatch, path: path, body: `{"status":{"observedGeneration":-1}}`}); a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "status.observedGeneration") != nil {
		t.Errorf("a status that can't be: %d %s", a.status, a.body)
	}
}

// ends deletes an object: it terminates until who holds its finalizer lets it go.
func (k plainKind) ends(t *testing.T, s *server) {
	t.Helper()
	at := k.path() + "/b"
	s.must(t, request{method: http.MethodPost, path: k.path(), body: k.manifest(`"name":"b"`, `"spec":`+k.spec)})
	s.must(t, request{method: http.MethodDelete, path: at + "?dryRun=All"})
	deleted := decode[plainObject](t, s.must(t, request{method: http.MethodDelete, path: at}).body)
	if deleted.DeletionTimestamp == nil || fmt.Sprint(deleted.Finalizers) != "["+k.finalizer+"]" {
		t.Errorf("deleted: %+v", deleted.ObjectMeta)
	}
	// The server itself lets collections go.
	s.do(t, request{method: http.MethodPatch, kind: mergePatch, path: at, body: `{"metadata":{"finalizers":null}}`})
	waitFor(t, "end of "+at, func() error {
		if a := s.do(t, request{path: at}); a.status != http.StatusNotFound {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}

// TestContractPhases: of two fulfillers that claim a contract one wins; the phase goes
// on, its times come by themselves, and what is finished stays.
func TestContractPhases(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	contracts := s.client.ComputeContracts()
	made, err := contracts.Create(t.Context(), &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.ComputeContractStatus{Phase: v1alpha1.ComputeHeld}}, metav1.CreateOptions{})
	if err != nil || made.Status.Phase != v1alpha1.ComputePending {
		t.Fatalf("a new one is %q: %v", made.Status.Phase, err)
	}
	claim := made.DeepCopy()
	claim.Status.Phase = v1alpha1.ComputeRequesting
	first, err := contracts.UpdateStatus(t.Context(), claim, metav1.UpdateOptions{})
	if err != nil || first.Status.RequestedAt == nil {
		t.Fatalf("the first claim: %+v, %v", first, err)
	}
	if a := s.do(t, request{method: http.MethodPut, path: resources["ComputeContract"] + "/a/status", body: claim}); a.status != http.StatusConflict {
		t.Errorf("the second claim: %d %s", a.status, a.body)
	}
	move := func(body string) answer {
		return s.do(t, request{method: http.MethodPatch, kind: mergePatch, path: resources["ComputeContract"] + "/a/status", body: `{"status":` + body + `}`})
	}
	for _, c := range []struct {
		body string
		want []string // of the refusal; none: accepted
	}{
		{`{"phase":"Pending"}`, []string{"status.phase", `"Pending"`, "Requesting"}},
		{`{"phase":"Deployed"}`, []string{"status.phase", `"Deployed"`, `"Held"`}},
		{`{"phase":"Held","winner":"bob.example.com"}`, []string{"status.winner", "bob.example.com", "did:plc:"}},
		{`{"phase":"Held","receipt":{"uri":"https://x"}}`, []string{"status.receipt.uri", "https://x", "at://"}},
		{`{"phase":"Held","winner":"did:web:bob.example.com","receipt":{"uri":"at://did:web:bob.example.com/com.example.receipt/1"}}`, nil},
		{`{"requestedAt":"2026-01-01T00:00:00Z"}`, []string{"status.requestedAt", "2026-01-01", "leave it out"}},
		{`{"phase":"Released","message":"over"}`, nil},
		{`{"phase":"Failed"}`, []string{"status.phase", `"Failed"`, "Released", "create another"}},
		{`{"winner":null}`, []string{"status.winner", "did:web:bob.example.com", "create another"}},
		{`{"message":"still over"}`, nil},
	} {
		a := move(c.body)
		if c.want == nil && a.status != http.StatusOK || c.want != nil && (a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, c.want...) != nil) {
			t.Errorf("%s: %d %s", c.body, a.status, a.body)
		}
	}
	last, err := contracts.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || last.Status.FinishedAt == nil || last.Status.HeldAt == nil || !last.Status.RequestedAt.Equal(first.Status.RequestedAt) || last.Status.Message != "still over" {
		t.Errorf("in the end: %+v, %v", last.Status, err)
	}
}
