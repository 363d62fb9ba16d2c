package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestManagersDontLockAnObject: managers whose fields fill etcd's limit keep nobody
// from changing the object (kyverno/kyverno#2674): an apply that adds another one is
// 413, and what isn't an apply goes through without them, as for every other kind.
func TestManagersDontLockAnObject(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	// As many annotations with long names as an object may have: each manager owns all.
	annotations := record{}
	for i := range 700 {
		annotations[fmt.Sprintf("p%03d.%s/%s", i, strings.Repeat("a.", 120)+"x", strings.Repeat("n", 63))] = "x"
	}
	apply := func(manager int) answer {
		m := manifest("fat", "x")
		m["metadata"].(record)["annotations"] = annotations
		delete(m["spec"].(record), "contracts")
		return e.do(t, request{method: http.MethodPatch, kind: applyPatch, path: fmt.Sprintf("%s/fat?fieldManager=m%d", infras, manager), body: m})
	}
	for n := 0; ; n++ {
		a := apply(n)
		if a.status == http.StatusRequestEntityTooLarge {
			if n < 2 || contains(a.failure.Message, "etcd's limit") != nil {
				t.Errorf("manager %d: %s", n, a.body)
			}
			break
		}
		if a.err != nil || a.status >= 300 || n == 20 {
			t.Fatalf("manager %d: %d %.500s %v", n, a.status, a.body, a.err)
		}
	}
	// More than another manager would have been.
	var contracts []any
	for i := range 20 {
		contracts = append(contracts, record{"name": fmt.Sprintf("c%d", i), "userData": strings.Repeat("u", 16_000)})
	}
	e.must(t, request{method: http.MethodPatch, path: infras + "/fat", kind: mergePatch, body: record{"spec": record{"description": "changed", "contracts": contracts}}})
	now := e.infra(t, "fat")
	if _, there := managers(now)["m0/Apply/"]; there || now.Spec.Description != "changed" || len(now.Annotations) < len(annotations) {
		t.Errorf("after the patch: %q, %d annotations, managers %v", now.Spec.Description, len(now.Annotations), keys(managers(now)))
	}
	if value, _ := e.account.get(t, "fat"); value["description"] != "changed" {
		t.Errorf("the record has %v", value["description"])
	}
	e.must(t, request{method: http.MethodDelete, path: infras + "/fat"})
}
