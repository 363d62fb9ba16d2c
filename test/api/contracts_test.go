package api

import (
	"net/http"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestOwnersOfLists: the contracts are one manager's, as a whole, so that an apply
// leaves what it says and nothing else in the record; secrets and the statuses of
// contracts are owned one by one.
func TestOwnersOfLists(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	apply := func(sub, manager string, force bool, want int, fields string) answer {
		t.Helper()
		r := e.apply(t, "a", sub, manager, force, `},`+fields+`}`)
		if r.status != want {
			t.Errorf("%s applies %s: %d %s", manager, fields, r.status, r.body)
		}
		return r
	}
	apply("", "m1", false, http.StatusCreated, `"spec":{"contracts":[{"name":"web"},{"name":"db","state":"Requested"}]}`)
	r := apply("", "m2", false, http.StatusConflict, `"spec":{"contracts":[{"name":"job"}]}`)
	if err := contains(r.failure.Message, "m1", ".spec.contracts"); err != nil {
		t.Error(err)
	}
	// The same list, in the same words, is no conflict: both own it then.
	apply("", "m2", false, http.StatusOK, `"spec":{"contracts":[{"name":"web","state":"Staged"},{"name":"db","state":"Requested"}]}`)

	apply("", "s1", false, http.StatusOK, `"spec":{"secrets":[{"contract":"web","secretRef":{"name":"one"}}]}`)
	apply("", "s2", false, http.StatusOK, `"spec":{"secrets":[{"contract":"db","secretRef":{"name":"two"}}]}`)
	r = apply("", "s2", false, http.StatusConflict, `"spec":{"secrets":[{"contract":"web","secretRef":{"name":"two"}}]}`)
	if err := contains(r.failure.Message, "s1", `.spec.secrets[contract="web"].secretRef.name`); err != nil {
		t.Error(err)
	}
	apply("/status", "c1", false, http.StatusOK, `"status":{"contracts":[{"name":"web","phase":"Requesting"}]}`)
	apply("/status", "c2", false, http.StatusOK, `"status":{"contracts":[{"name":"db","phase":"Deployed"}]}`)
	got := e.infra(t, "a")
	if len(got.Spec.Contracts) != 2 || len(got.Spec.Secrets) != 2 || len(got.Status.Contracts) != 2 {
		t.Errorf("after all of them: %+v, %+v", got.Spec, got.Status.Contracts)
	}
	apply("", "s2", false, http.StatusOK, `"spec":{"description":"mine"}`)
	if got = e.infra(t, "a"); len(got.Spec.Secrets) != 1 || got.Spec.Secrets[0].Contract != "web" {
		t.Errorf("once s2 gave its secret up: %+v", got.Spec.Secrets)
	}
	r = apply("", "m3", true, http.StatusUnprocessableEntity, `"spec":{"contracts":[{"name":"job"}]}`)
	if err := contains(r.failure.Message, "spec.secrets[0].contract"); err != nil {
		t.Error(err)
	}
	r = apply("", "m3", true, http.StatusOK, `"spec":{"contracts":[{"name":"job"},{"name":"web"}]}`)
	if all := decode[v1alpha1.Infra](t, r.body).Spec.Contracts; len(all) != 2 || all[0].Name != "job" || all[1].Name != "web" {
		t.Errorf("by force: %+v", all)
	}
}

// TestPatchesOfLists: a strategic merge patch merges by name and keeps the order
// that it names; a merge patch replaces.
func TestPatchesOfLists(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	patch := func(kind, body, want string) {
		t.Helper()
		e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: kind, body: body})
		value, _ := e.account.get(t, "a")
		var names []string
		for _, c := range value["contracts"].([]any) {
			names = append(names, c.(record)["name"].(string))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s %s: the record has %q, want %q", kind, body, got, want)
		}
	}
	const strategic = "application/strategic-merge-patch+json"
	patch(mergePatch, `{"spec":{"contracts":[{"name":"a"},{"name":"b"}]}}`, "a b")
	patch(strategic, `{"spec":{"contracts":[{"name":"c"}],"$setElementOrder/contracts":[{"name":"c"},{"name":"a"},{"name":"b"}]}}`, "c a b")
	patch(strategic, `{"spec":{"contracts":[{"name":"a","$patch":"delete"}]}}`, "c b")
	patch(strategic, `{"spec":{"contracts":[{"$patch":"replace"},{"name":"d"}]}}`, "d")
	patch(mergePatch, `{"spec":{"contracts":[{"name":"e"}]}}`, "e")
}
