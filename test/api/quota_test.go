package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// TestQuotaOfObjects: of fifty who create at once, as many succeed as the workspace has
// room for, and every way to create is refused then, dry runs too; what makes nothing goes
// on, and so does another workspace.
func TestQuotaOfObjects(t *testing.T) {
	t.Parallel()
	const most = 10
	envs := limited(t, apiserver.QuotaOptions{MaxObjects: most}, "full", "wide")
	full, wide := envs[0], envs[1]
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			r := request{method: http.MethodPost, path: infras, body: manifest(fmt.Sprintf("a%02d", i), "x")}
			// It takes no room from anybody, however it comes out.
			if a := full.do(t, dryRun(r)); a.status != http.StatusCreated && a.status != http.StatusForbidden {
				t.Errorf("dry run: %d %s %v", a.status, a.body, a.err)
			}
			switch a := full.do(t, r); a.status {
			case http.StatusCreated:
				made.Add(1)
			case http.StatusForbidden:
				refusedBy(t, "create", a, "objects", "full")
				refused.Add(1)
			default:
				t.Errorf("%d %s %v", a.status, a.body, a.err)
			}
		})
	}
	wg.Wait()
	if made.Load() != most-1 || refused.Load() != 50-most+1 { // the AtprotoRepo is one of them
		t.Errorf("%d were made, %d refused", made.Load(), refused.Load())
	}
	if n := len(full.account.records(t)); n != most-1 {
		t.Errorf("%d records", n)
	}

	generated := manifest("", "x")
	generated["metadata"] = record{"generateName": "a-"}
	for what, r := range map[string]request{
		"generateName": {method: http.MethodPost, path: infras, body: generated},
		"apply":        {method: http.MethodPatch, path: infras + "/applied?fieldManager=x&force=true", kind: applyPatch, body: manifest("applied", "x")},
		"a collection": {method: http.MethodPost, path: collections, body: collectionManifest("c")},
		"another kind": {method: http.MethodPost, path: groupPath + "/ephemeralinfras", body: record{
			"apiVersion": generated["apiVersion"], "kind": "EphemeralInfra", "metadata": record{"name": "e"}, "spec": record{"ttlSeconds": 60, "contracts": []any{record{"name": "web"}}}}},
	} {
		refusedAlike(t, full, what, r, "objects")
	}
	l, err := full.client.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(l.Items) != most-1 {
		t.Fatalf("%d objects, %v", len(l.Items), err)
	}
	name := l.Items[0].Name
	there := request{method: http.MethodPost, path: infras, body: manifest(name, "again")}
	for _, r := range []request{there, dryRun(there)} {
		if a := full.do(t, r); a.status != http.StatusConflict {
			t.Errorf("one that is there: %d %s", a.status, a.body)
		}
	}
	full.change(t, name, func(i *v1alpha1.Infra) { i.Spec.Description = "longer than before" })
	full.setPhase(t, name, v1alpha1.PhaseDeployed)
	full.must(t, request{method: http.MethodPatch, path: infras + "/" + name + "?fieldManager=y&force=true", kind: applyPatch, body: manifest(name, "applied")})

	// Another replica, or the next start, counts what is there.
	twin := &server{prefix: full.prefix, plc: full.plc, creds: full.creds, configure: full.configure}
	twin.start(t)
	refusedBy(t, "at another replica", twin.throughKCP(t, "full").do(t, request{method: http.MethodPost, path: infras, body: manifest("twin", "x")}), "objects", "full")
	twin.stop()

	wide.create(t, newInfra("a", "in another"))
	full.must(t, request{method: http.MethodDelete, path: infras + "/" + name})
	full.create(t, newInfra("instead", "at once"))
	refusedBy(t, "full again", full.do(t, request{method: http.MethodPost, path: infras, body: manifest("more", "x")}), "objects", "full")
	full.must(t, request{method: http.MethodDelete, path: infras})
	full.create(t, newInfra("after", "all were deleted"))
}

// TestQuotaOfBytes: what makes objects larger is refused beyond the limit; what makes
// them smaller, statuses and deletions never are.
func TestQuotaOfBytes(t *testing.T) {
	t.Parallel()
	e := limited(t, apiserver.QuotaOptions{MaxBytes: "48Ki"}, "full")[0]
	big := strings.Repeat("x", 20_000)
	annotated := func(name string) record {
		m := manifest(name, "x")
		m["metadata"].(record)["annotations"] = record{"a": big}
		m["metadata"].(record)["finalizers"] = []string{"example.org/f"}
		return m
	}
	e.must(t, request{method: http.MethodPost, path: infras, body: annotated("a")})
	e.create(t, newInfra("small", "x"))
	refusedAlike(t, e, "create", request{method: http.MethodPost, path: infras, body: func() record {
		m := annotated("b")
		m["metadata"].(record)["annotations"] = record{"a": big, "b": big}
		return m
	}()}, "bytes")
	patch := func(name, body string) answer {
		return e.do(t, request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: body})
	}
	longer := func(n int) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{"more":%q}}}`, strings.Repeat("y", n))
	}
	refusedAlike(t, e, "update", request{method: http.MethodPatch, path: infras + "/small", kind: mergePatch, body: longer(30_000)}, "bytes")
	for range 3 { // they don't add up
		e.must(t, dryRun(request{method: http.MethodPatch, path: infras + "/small", kind: mergePatch, body: longer(10_000)}))
	}
	if a := patch("small", longer(10_000)); a.status != http.StatusOK {
		t.Errorf("an update that there is room for: %d %s", a.status, a.body)
	}
	// Past the limit, by a status.
	e.change(t, "small", func(*v1alpha1.Infra) {})
	i := e.infra(t, "small")
	i.Status.Conditions = append(i.Status.Conditions, metav1.Condition{
		Type: "Big", Status: metav1.ConditionTrue, Reason: "Big", Message: strings.Repeat("z", 30_000), LastTransitionTime: metav1.Now(),
	})
	waitFor(t, "status", func() error {
		now := e.infra(t, "small")
		now.Status.Conditions = i.Status.Conditions
		_, err := e.client.Infras().UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
		return err
	})
	e.counted(t, "the status", request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: longer(1)})
	refusedBy(t, "past it, an update", patch("a", longer(1)), "bytes", "full")
	for what, a := range map[string]answer{
		"the same":              patch("a", `{"metadata":{"annotations":{"a":"`+big+`"}}}`),
		"less":                  patch("small", `{"metadata":{"annotations":{"more":"y"}}}`),
		"a deletion":            e.do(t, request{method: http.MethodDelete, path: infras + "/a?propagationPolicy=Foreground"}),
		"the end of finalizers": patch("a", `{"metadata":{"finalizers":null}}`),
	} {
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s %v", what, a.status, a.body, a.err)
		}
	}
}

// TestQuotaOfWrites: who writes too often through kcp is told when to come again;
// reads, dry runs, other workspaces and the server itself aren't held back.
func TestQuotaOfWrites(t *testing.T) {
	t.Parallel()
	envs := limited(t, apiserver.QuotaOptions{WriteRate: 0.0001}, "full", "wide")
	full, wide := envs[0], envs[1]
	was := refusals("full", "write_rate")
	for i := range 9 { // the AtprotoRepo was the first of ten
		full.create(t, newInfra(fmt.Sprintf("a%d", i), "x"))
	}
	for _, r := range []request{
		{method: http.MethodPost, path: infras, body: manifest("more", "x")},
		{method: http.MethodDelete, path: infras + "/a1"},
		{method: http.MethodPatch, path: infras + "/a1/status", kind: mergePatch, body: `{}`},
	} {
		a := full.do(t, r)
		if a.status != http.StatusTooManyRequests || a.failure.Reason != metav1.StatusReasonTooManyRequests || a.failure.Details == nil ||
			a.header.Get("Retry-After") != fmt.Sprint(a.failure.Details.RetryAfterSeconds) || a.failure.Details.RetryAfterSeconds < 9000 ||
			contains(a.failure.Message, "workspace full") != nil {
			t.Errorf("%s %s: %d %s %v", r.method, r.path, a.status, a.body, a.header)
		}
	}
	for _, r := range []request{
		{path: infras}, {path: infras + "/a1"}, {path: groupPath},
		{method: http.MethodPost, path: infras + "?dryRun=All", body: manifest("dry", "x")},
	} {
		full.must(t, r)
	}
	wide.create(t, newInfra("a", "x"))
	if n := len(full.account.records(t)); n != 9 {
		t.Errorf("%d records", n)
	}
	if is := refusals("full", "write_rate"); is-was != 3 {
		t.Errorf("%d refusals are counted, before %d", is, was)
	}
}

// TestQuotaOfIngest: records that are put into a repository beyond the limit get no
// object and disturb nobody; the AtprotoRepo says so; they get theirs when there is
// room.
func TestQuotaOfIngest(t *testing.T) {
	t.Parallel()
	envs := limited(t, apiserver.QuotaOptions{MaxObjects: 3}, "full", "wide")
	full, wide := envs[0], envs[1]
	full.create(t, newInfra("a", "by the API"))
	full.account.put(t, "b", infraRecord("by the PDS"))
	full.shows(t, "full", "a", "b") // the AtprotoRepo is the third
	for _, name := range []string{"d", "c"} {
		full.account.put(t, name, infraRecord("beyond"))
		full.shows(t, "beyond", "a", "b")
	}
	repo := full.awaitRepo(t, v1alpha1.ConditionTruncated, metav1.ConditionTrue)
	if c := repoCondition(repo, v1alpha1.ConditionTruncated); c.Reason != v1alpha1.ReasonWorkspaceFull {
		t.Errorf("%+v", c)
	}
	if c := repoCondition(repo, v1alpha1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	refusedBy(t, "one whose record is there", full.do(t, request{method: http.MethodPost, path: infras, body: manifest("c", "x")}), "objects", "full")
	full.account.put(t, "b", infraRecord("edited"))
	if got := full.infra(t, "b"); got.Spec.Description != "edited" {
		t.Errorf("an edit of what is served: %q", got.Spec.Description)
	}
	wide.account.put(t, "a", infraRecord("x"))
	wide.shows(t, "another workspace", "a")
	for _, step := range []struct {
		gone, there string
	}{{"a", "c"}, {"b", "d"}} {
		if err := full.client.Infras().Delete(t.Context(), step.gone, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, step.there, func() error {
			_, err := full.client.Infras().Get(t.Context(), step.there, metav1.GetOptions{})
			return err
		})
	}
	full.shows(t, "room", "c", "d")
	full.awaitRepo(t, v1alpha1.ConditionTruncated, metav1.ConditionFalse)
}
