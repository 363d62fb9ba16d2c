package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// private is an Infra whose every private field holds a word that is found
// nowhere else, and those words.
func private(name string) (*v1alpha1.Infra, []string) {
	i := newInfra(name, "public")
	i.Labels = map[string]string{"label-key": "label-value"}
	i.Annotations = map[string]string{"annotation-key": "annotation-value"}
	i.Finalizers = []string{"example.com/finalizer-word"}
	i.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "OwnerKind", Name: "owner-name", UID: types.UID("owner-uid")}}
	keepSecret("secret-name", "secret-namespace")
	i.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "web", SecretRef: v1alpha1.SecretReference{Name: "secret-name", Namespace: "secret-namespace"}}}
	return i, []string{
		"label-key", "label-value", "annotation-key", "annotation-value", "finalizer-word", "OwnerKind", "owner-name", "owner-uid",
		"secret-name", "secret-namespace", "managedFields", "manager-word", "kcp.io", "generation", "resourceVersion", "conditions",
		"ConditionWord", "condition-message", "deletionTimestamp", "observedGeneration", "declarationHash", "repoRef", "secretRef",
	}
}

// TestPrivatePartsStayPrivate: nothing private is in the record, nor anywhere else
// in the repository, whichever way it was written.
func TestPrivatePartsStayPrivate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		obj, words := private("a")
		made := e.create(t, obj)
		apply := `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a","labels":{"label-key":"label-value"}},"spec":{"description":"applied"}}`
		e.must(t, request{method: http.MethodPatch, path: infras + "/a?fieldManager=manager-word&force=true", kind: applyPatch, body: apply})
		e.must(t, request{method: http.MethodPatch, path: infras + "/a/status", kind: mergePatch, body: `{"status":{"phase":"Degraded","observedGeneration":1,
			"conditions":[{"type":"ConditionWord","status":"True","reason":"R","message":"condition-message","lastTransitionTime":"2026-01-01T00:00:00Z"}],
			"contracts":[{"name":"web","phase":"Deployed","winner":"did:web:winner.example","message":"told to all"}]}}`})
		words = append(words, string(made.UID))
		waitFor(t, "published status", func() error { return contains(a.raw(t, "a"), "told to all", "winner.example", "degraded", "applied") })
		if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil { // its finalizer holds it
			t.Fatal(err)
		}
		edited, _ := a.get(t, "a")
		edited["description"] = "edited elsewhere while it terminates"
		a.put(t, "a", edited)
		if got := e.infra(t, "a"); got.DeletionTimestamp == nil || got.Spec.Description != edited["description"] {
			t.Errorf("object %+v", got)
		}
		repo := a.must(t, "com.atproto.sync.getRepo", url.Values{"did": {a.DID}}, nil).raw
		if !bytes.Contains(repo, []byte("told to all")) {
			t.Error("the export holds no record")
		}
		record := a.raw(t, "a")
		for _, w := range words {
			if bytes.Contains(repo, []byte(w)) || strings.Contains(record, w) {
				t.Errorf("%q is public: %s", w, record)
			}
		}
	})
}

// foreign is a record with fields of other clients and of a newer lexicon, at
// every place where ours could lose them.
func foreign(description string) record {
	return record{
		"$type": infraCollection, "description": description, "createdAt": "2025-05-05T05:05:05.123Z",
		"theme": record{"colors": []any{"red", float64(1), nil, true, record{}}, "empty": []any{}},
		"link":  record{"$link": "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"},
		"bytes": record{"$bytes": "AAECAwQ"},
		"big":   float64(9007199254740991), "unicode": "zürich ☂ 東京", "zero": float64(0),
		"contracts": []any{
			record{"name": "web", "state": "staged", "region": "eu", "nested": record{"a": []any{float64(1)}}},
			record{"name": "db", "state": "requested", "gpus": float64(2)},
		},
	}
}

// TestForeignFieldsSurvive: what other clients keep in a record is there after
// every kind of write of ours.
func TestForeignFieldsSurvive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		original := foreign("theirs")
		a.put(t, "a", original)
		kept := func(step string) {
			t.Helper()
			now, _ := a.get(t, "a")
			for _, key := range []string{"theme", "link", "bytes", "big", "unicode", "zero", "createdAt"} {
				if fmt.Sprint(now[key]) != fmt.Sprint(original[key]) {
					t.Errorf("%s: %s is %v, was %v", step, key, now[key], original[key])
				}
			}
			for _, c := range now["contracts"].([]any) {
				c := c.(record)
				if c["name"] == "web" && (c["region"] != "eu" || fmt.Sprint(c["nested"]) != "map[a:[1]]") || c["name"] == "db" && c["gpus"] != float64(2) {
					t.Errorf("%s: contract %v", step, c)
				}
			}
		}
		patch := func(sub, body string) {
			t.Helper()
			e.must(t, request{method: http.MethodPatch, path: infras + "/a" + sub, kind: mergePatch, body: body})
		}
		patch("", `{"spec":{"description":"ours"}}`)
		kept("description")
		patch("", `{"metadata":{"labels":{"l":"x"}}}`)
		patch("/status", `{"status":{"phase":"Deploying"}}`)
		waitFor(t, "published status", func() error { return contains(a.raw(t, "a"), "deploying") })
		kept("status")
		e.change(t, "a", func(obj *v1alpha1.Infra) {
			obj.Spec.Contracts[0].State = v1alpha1.ContractRequested
			obj.Spec.Contracts = append([]v1alpha1.Contract{{Name: "new"}}, obj.Spec.Contracts...)
		})
		kept("contracts")
		now, _ := a.get(t, "a")
		contracts := now["contracts"].([]any)
		if len(contracts) != 3 || contracts[1].(record)["region"] != "eu" || contracts[1].(record)["state"] != "requested" {
			t.Errorf("contracts %v", contracts)
		}
		if now["description"] != "ours" {
			t.Errorf("record %v", now)
		}
	})
}
