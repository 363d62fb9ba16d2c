//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Every verb works through the aggregator for the kinds of which etcd alone keeps the
// objects, too. They are plain requests, since each run of kubectl takes its time.
func TestVerbsOfPlainKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range plainKinds {
		t.Run(kind.name, func(t *testing.T) {
			v := plainVerbs{kind, newCaller(t, plane.Config()), harness.Name(t)}
			v.create(t)
			v.read(t)
			v.change(t)
			v.status(t)
			v.delete(t)
		})
	}
}

// plainVerbs of one kind, on objects of a label, one of which has its name.
type plainVerbs struct {
	kind
	c    caller
	name string
}

func (v plainVerbs) path() string { return base + "/" + v.resource }
func (v plainVerbs) one() string  { return v.path() + "/" + v.name }
func (v plainVerbs) list() string { return v.path() + "?labelSelector=e2e%3D" + v.name }

func (v plainVerbs) labelled(name, more string) string {
	return v.manifest(name, fmt.Sprintf(`"labels":{"e2e":%q%s}`, v.name, more))
}

// want demands a code, and words of the answer.
func (v plainVerbs) want(t *testing.T, code int, method, path, kind, body string, words ...string) string {
	t.Helper()
	var headers []string
	if kind != "" {
		headers = []string{"Content-Type: " + kind}
	}
	got := v.c.ask(t, method, path, body, headers...)
	for _, w := range words {
		if !strings.Contains(got.body, w) {
			t.Errorf("%s %s lacks %s: %s", method, path, w, got.body)
		}
	}
	if got.code != code {
		t.Errorf("%s %s: %d %s, want %d", method, path, got.code, got.body, code)
	}
	return got.body
}

func (v plainVerbs) patch(t *testing.T, code int, kind, at, body string, words ...string) {
	t.Helper()
	v.want(t, code, http.MethodPatch, at, kind, body, words...)
}

const plainJSON = "application/json"

func (v plainVerbs) create(t *testing.T) {
	v.want(t, 201, http.MethodPost, v.path(), plainJSON, v.labelled(v.name, ""))
	v.want(t, 409, http.MethodPost, v.path(), plainJSON, v.labelled(v.name, ""), string(metav1.StatusReasonAlreadyExists))
	generated := strings.Replace(v.labelled("x", ""), `"name":"x"`, `"generateName":"`+v.name+`-"`, 1)
	v.want(t, 201, http.MethodPost, v.path(), plainJSON, generated, `"name":"`+v.name+`-`)
	unknown := strings.Replace(v.manifest(v.name+"-strict"), `"spec":{`, `"spec":{"nope":1,`, 1)
	v.want(t, 400, http.MethodPost, v.path()+"?fieldValidation=Strict&dryRun=All", plainJSON, unknown, "spec.nope")

	applied := v.one() + "-applied?fieldManager="
	v.patch(t, 201, applyPatch, applied+"m1", v.labelled(v.name+"-applied", `,"l":"one"`))
	v.patch(t, 409, applyPatch, applied+"m2", v.labelled(v.name+"-applied", `,"l":"two"`), "m1", ".metadata.labels.l")
	v.patch(t, 200, applyPatch, applied+"m2&force=true", v.labelled(v.name+"-applied", `,"l":"two"`), `"l":"two"`)
}

func (v plainVerbs) read(t *testing.T) {
	v.want(t, 200, http.MethodGet, v.one(), "", "", `"name":"`+v.name+`"`)
	for query, n := range map[string]int{"": 3, "&fieldSelector=metadata.name%3D" + v.name: 1} {
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal([]byte(v.want(t, 200, http.MethodGet, v.list()+query, "", "")), &list); err != nil || len(list.Items) != n {
			t.Errorf("list%s: %d objects, want %d, %v", query, len(list.Items), n, err)
		}
	}
	objects := plane.Admin().Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(v.resource))
	harness.Await(t, objects.Watch, v.name, func(*unstructured.Unstructured) error { return nil })
	v.want(t, 400, http.MethodGet, v.path()+"?fieldSelector=spec.nope%3D1", "", "", "spec.nope")
}

func (v plainVerbs) change(t *testing.T) {
	old := v.want(t, 200, http.MethodGet, v.one(), "", "")
	v.patch(t, 200, mergePatch, v.one(), fmt.Sprintf(`{"spec":{%q:%s}}`, v.field, v.other), fmt.Sprintf(`%q:%s`, v.field, v.other), `"generation":2`)
	v.patch(t, 200, "application/json-patch+json", v.one(), `[{"op":"add","path":"/metadata/labels/more","value":"yes"}]`, `"more":"yes"`, `"generation":2`)
	v.patch(t, 200, "application/strategic-merge-patch+json", v.one(), `{"metadata":{"annotations":{"note":"here"}}}`, `"note":"here"`)
	v.want(t, 409, http.MethodPut, v.one(), plainJSON, old, string(metav1.StatusReasonConflict))
	harness.Eventually(t, func(context.Context) error { // the server may write the status between
		now := v.c.ask(t, http.MethodGet, v.one(), "")
		if got := v.c.ask(t, http.MethodPut, v.one(), now.body); got.code != http.StatusOK {
			return fmt.Errorf("PUT of what was read: %d %s", got.code, got.body)
		}
		return nil
	})
}

// status is a resource of its own: neither writes what the other holds.
func (v plainVerbs) status(t *testing.T) {
	const condition = `"status":{"conditions":[{"type":"E2E","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`
	old := v.want(t, 200, http.MethodGet, v.one()+"/status", "", "", `"name":"`+v.name+`"`)
	v.patch(t, 200, mergePatch, v.one(), `{`+condition+`}`)
	if got := v.want(t, 200, http.MethodGet, v.one(), "", ""); strings.Contains(got, `"E2E"`) {
		t.Errorf("the main resource took a condition: %s", got)
	}
	v.patch(t, 200, mergePatch, v.one()+"/status", `{`+condition+`,"metadata":{"labels":{"by":"status"}},"spec":`+fmt.Sprintf(`{%q:%s}}`, v.field, v.another), `"E2E"`)
	if got := v.want(t, 200, http.MethodGet, v.one(), "", "", `"E2E"`, fmt.Sprintf(`%q:%s`, v.field, v.other)); strings.Contains(got, `"by"`) {
		t.Errorf("a write of the status changed the rest: %s", got)
	}
	v.want(t, 409, http.MethodPut, v.one()+"/status", plainJSON, old, string(metav1.StatusReasonConflict))
}

// delete ends them all. Nobody here releases a contract but the test.
func (v plainVerbs) delete(t *testing.T) {
	v.want(t, 200, http.MethodDelete, v.one(), plainJSON, "")
	v.want(t, 200, http.MethodDelete, v.list(), plainJSON, "") // deletecollection
	harness.Eventually(t, func(context.Context) error {
		var list metav1.PartialObjectMetadataList
		got := v.c.ask(t, http.MethodGet, v.list(), "")
		if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.code != http.StatusOK {
			return fmt.Errorf("%d %s: %w", got.code, got.body, err)
		}
		for _, o := range list.Items {
			if o.DeletionTimestamp == nil {
				return fmt.Errorf("%s is not deleted", o.Name)
			}
			v.c.ask(t, http.MethodPatch, v.path()+"/"+o.Name, `{"metadata":{"finalizers":null}}`, "Content-Type: "+mergePatch)
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d are left", len(list.Items))
		}
		return nil
	})
	v.want(t, 404, http.MethodGet, v.one(), "", "", string(metav1.StatusReasonNotFound))
}
