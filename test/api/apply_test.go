package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// apply sends a server-side apply.
func (s *server) apply(t *testing.T, name, sub, manager string, force bool, fields string) answer {
	t.Helper()
	return s.do(t, request{
		method: http.MethodPatch, kind: applyPatch,
		path: fmt.Sprintf("%s/%s%s?fieldManager=%s&force=%t", infras, name, sub, manager, force),
		body: fmt.Sprintf(`{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":%q%s`, name, fields),
	})
}

// managers of an object, as NAME/OPERATION/SUBRESOURCE.
func managers(i *v1alpha1.Infra) map[string]metav1.ManagedFieldsEntry {
	out := map[string]metav1.ManagedFieldsEntry{}
	for _, m := range i.ManagedFields {
		out[m.Manager+"/"+string(m.Operation)+"/"+m.Subresource] = m
	}
	return out
}

// TestServerSideApply: ownership of fields as Kubernetes keeps it, over writes of
// the status, edits made elsewhere and restarts.
func TestServerSideApply(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		const one = `,"labels":{"l":"one"}},"spec":{"description":"one","contracts":[{"name":"web"}]}}`
		if r := e.apply(t, "a", "", "m1", false, one); r.status != http.StatusCreated {
			t.Fatalf("apply of what is not there: %d %s", r.status, r.body)
		}
		if value, _ := a.get(t, "a"); value["description"] != "one" {
			t.Errorf("record %v", value)
		}
		if r := e.apply(t, "a", "/status", "controller", false, `},"status":{"phase":"Staged","contracts":[{"name":"web","phase":"Staged"}]}}`); r.status != http.StatusOK {
			t.Fatalf("apply of the status: %d %s", r.status, r.body)
		}
		waitFor(t, "publishing", func() error { return contains(a.raw(t, "a"), `"phase":"staged"`) })
		a.put(t, "foreign", infraRecord("x"))
		e.restart(t)
		e.settled(t)

		got := e.infra(t, "a")
		have := managers(got)
		if _, ok := have["m1/Apply/"]; !ok || len(have) != 2 {
			t.Errorf("managers %v", keys(have))
		}
		if err := contains(have["controller/Apply/status"].FieldsV1.GetRawString(), "f:phase", `k:{\"name\":\"web\"}`); err != nil {
			t.Error(err)
		}
		if err := contains(have["m1/Apply/"].FieldsV1.GetRawString(), "f:status"); err == nil {
			t.Error("m1 owns the status")
		}
		rev := a.rev(t)
		time.Sleep(1100 * time.Millisecond) // the times of managers are whole seconds
		if r := e.apply(t, "a", "", "m1", false, one); r.status != http.StatusOK || decode[v1alpha1.Infra](t, r.body).ResourceVersion != got.ResourceVersion || a.rev(t) != rev {
			t.Errorf("the same again: %d %s, rev %s; before: %+v", r.status, r.body, a.rev(t), got)
		}
		r := e.apply(t, "a", "", "m2", false, `},"spec":{"description":"two"}}`)
		if r.status != http.StatusConflict || contains(r.failure.Message, "m1", "spec.description") != nil {
			t.Errorf("m2 without force: %d %s", r.status, r.body)
		}
		if r := e.apply(t, "a", "", "m2", true, `},"spec":{"description":"two"}}`); r.status != http.StatusOK {
			t.Errorf("m2 by force: %d %s", r.status, r.body)
		}
		if value, _ := a.get(t, "a"); value["description"] != "two" {
			t.Errorf("record %v", value)
		}
		have = managers(e.infra(t, "a"))
		if contains(have["m1/Apply/"].FieldsV1.GetRawString(), "f:description") == nil || contains(have["m2/Apply/"].FieldsV1.GetRawString(), "f:description") != nil {
			t.Errorf("after force: %v", have)
		}
		if r := e.apply(t, "a", "", "m1", false, `},"spec":{"contracts":[{"name":"web"}]}}`); r.status != http.StatusOK || decode[v1alpha1.Infra](t, r.body).Labels["l"] != "" {
			t.Errorf("m1 gives its label up: %d %s", r.status, r.body)
		}

		// An edit made elsewhere belongs to no manager, and takes nothing from one.
		value, _ := a.get(t, "a")
		value["description"] = "three"
		a.put(t, "a", value)
		edited := e.infra(t, "a")
		if edited.Spec.Description != "three" || contains(managers(edited)["m2/Apply/"].FieldsV1.GetRawString(), "f:description") != nil {
			t.Errorf("edited elsewhere: %+v", edited)
		}
		if r := e.apply(t, "a", "", "m2", false, `},"spec":{"description":"two"}}`); r.status != http.StatusOK || decode[v1alpha1.Infra](t, r.body).Spec.Description != "two" {
			t.Errorf("m2 applies again: %d %s", r.status, r.body)
		}
	})
}
