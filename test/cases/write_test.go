package cases

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A stale PUT is 409 and one without a resourceVersion 422, for every kind, as
// for custom resources (kptdev/kpt#3991, grafana/grafana-operator#2865); one for
// a name that isn't there is 404.
func TestPutNeedsAResourceVersion(t *testing.T) {
	e := start(t)
	for resource, body := range map[string]string{
		"infras":                    `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"},"spec":{"description":"x"}}`,
		"ephemeralinfras":           `{"apiVersion":"socialweb.computer/v1alpha1","kind":"EphemeralInfra","metadata":{"name":"a"},"spec":{"description":"x"}}`,
		"atprotorepos":              `{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","metadata":{"name":"a"},"spec":{"did":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","access":"None"}}`,
		"infracollections":          `{"apiVersion":"socialweb.computer/v1alpha1","kind":"InfraCollection","metadata":{"name":"a"},"spec":{"repoRef":{"name":"none"}}}`,
		"ephemeralinfracollections": `{"apiVersion":"socialweb.computer/v1alpha1","kind":"EphemeralInfraCollection","metadata":{"name":"a"},"spec":{"repoRef":{"name":"none"}}}`,
		"computecontracts":          `{"apiVersion":"socialweb.computer/v1alpha1","kind":"ComputeContract","metadata":{"name":"a"}}`,
	} {
		at := base + "/" + resource
		if a := e.do(t, "PUT", at+"/a", body); a.code != 404 {
			t.Errorf("%s: PUT to nothing: %d %s", resource, a.code, a.body)
		}
		made := e.do(t, "POST", at, body)
		if made.code != 201 {
			t.Fatalf("%s: POST: %d %s", resource, made.code, made.body)
		}
		if a := e.do(t, "PUT", at+"/a", body); a.code != 422 || a.reason(t) != metav1.StatusReasonInvalid {
			t.Errorf("%s: PUT without a resourceVersion: %d %s", resource, a.code, a.body)
		}
		if a := e.do(t, "PUT", at+"/a/status", body); a.code != 422 {
			t.Errorf("%s: PUT of the status without a resourceVersion: %d %s", resource, a.code, a.body)
		}
		if a := e.do(t, "PATCH", at+"/a", `{"metadata":{"labels":{"x":"1"}}}`, "Content-Type: application/merge-patch+json"); a.code != 200 {
			t.Fatalf("%s: PATCH: %d %s", resource, a.code, a.body)
		}
		if a := e.do(t, "PUT", at+"/a", string(made.body)); a.code != 409 || a.reason(t) != metav1.StatusReasonConflict {
			t.Errorf("%s: stale PUT: %d %s", resource, a.code, a.body)
		}
	}
}

// managedFields survive status writes and a restart (k/k#133704, ark#1958).
func TestManagedFieldsSurvive(t *testing.T) {
	e := start(t)
	apply := func(manager, description string, force bool) error {
		body := `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"},"spec":{"description":"` + description + `"}}`
		_, err := e.infras.Patch(t.Context(), "a", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager, Force: &force})
		return err
	}
	if err := apply("m1", "one", false); err != nil {
		t.Fatal(err)
	}
	status := []byte(`{"status":{"phase":"Staged"}}`)
	if _, err := e.infras.Patch(t.Context(), "a", types.MergePatchType, status, metav1.PatchOptions{FieldManager: "controller"}, "status"); err != nil {
		t.Fatal(err)
	}
	before := e.settled(t, "a")
	e = connect(t, e.restart(t))
	after, err := e.infras.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after.UID != before.UID || after.Generation != before.Generation || fields(t, after) != fields(t, before) {
		t.Errorf("before %s\nafter %s", fields(t, before), fields(t, after))
	}
	if err := apply("m2", "two", false); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"m1"`) {
		t.Errorf("an apply of another's field: %v", err)
	}
	if err := apply("m2", "two", true); err != nil {
		t.Error(err)
	}
}

func fields(t *testing.T, o *v1alpha1.Infra) string {
	t.Helper()
	b, err := json.Marshal(o.ManagedFields)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is too large is 413 or 422 with words, never 500 or a timeout
// (kyverno/kyverno#2674); a large object that is allowed works.
func TestLargeObjects(t *testing.T) {
	e := start(t)
	// contracts with 16 KB of user data each, as much as one may have.
	contracts := func(n int) []v1alpha1.Contract {
		out := make([]v1alpha1.Contract, n)
		for i, name := range names("c-%d", n) {
			out[i] = v1alpha1.Contract{Name: name, UserData: strings.Repeat("x", 16<<10)}
		}
		return out
	}
	o := infra("large")
	o.Spec.Contracts = contracts(23)
	if _, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Errorf("370 KB: %v", err)
	}
	o = infra("larger")
	o.Spec.Contracts = contracts(40)
	if _, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec") {
		t.Errorf("640 KB of declaration: %v", err)
	}
	o = infra("annotated")
	o.Annotations = map[string]string{"big": strings.Repeat("x", 300_000)}
	if _, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("annotations over the limit: %v", err)
	}
	body := `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"huge"},"spec":{"description":"` + strings.Repeat("x", 4<<20) + `"}}`
	if a := e.do(t, "POST", base+"/infras", body); a.code != 413 {
		t.Errorf("a body of 4 MB: %d %.200s", a.code, a.body)
	}
}
