package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// repoCondition of an AtprotoRepo; the zero one where it has none of that type.
func repoCondition(r *v1alpha1.AtprotoRepo, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(r.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestRepoStatus: what an AtprotoRepo tells once it is served.
func TestRepoStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		e.awaitRepo(t, v1alpha1.ConditionStreaming, metav1.ConditionTrue)
		r := e.repo
		for _, c := range []string{v1alpha1.ConditionReachable, v1alpha1.ConditionAuthorized, v1alpha1.ConditionSwapSupported, v1alpha1.ConditionReady} {
			if repoCondition(r, c).Status != metav1.ConditionTrue {
				t.Errorf("%s: %+v", c, repoCondition(r, c))
			}
		}
		if r.Status.DID != a.DID || r.Status.Handle != a.Handle || r.Status.PDS != e.proxy.URL() || r.Status.Access != v1alpha1.AccessReadWrite {
			t.Errorf("status %+v", r.Status)
		}
		if got := keys(a.records(t)); len(got) > 0 {
			t.Errorf("the probe of the swap left %v", got)
		}
		e.create(t, newInfra("a", "x"))
		waitFor(t, "rev in the status", func() error {
			r, err := e.client.AtprotoRepos().Get(t.Context(), repoName, metav1.GetOptions{})
			if rev := a.rev(t); err == nil && (r.Status.Rev != rev || r.Status.IngestedRev != rev) {
				err = fmt.Errorf("rev %s, status %+v", rev, r.Status)
			}
			return err
		})
	})
}

// TestOneDefaultRepo: a second default is refused, at creation and by a change.
func TestOneDefaultRepo(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	second := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: v1alpha1.AtprotoRepoSpec{DID: "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", PDS: e.proxy.URL(), Default: true, Access: v1alpha1.AccessNone}}
	if _, err := e.client.AtprotoRepos().Create(t.Context(), second, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || contains(err.Error(), "spec.default", repoName) != nil {
		t.Errorf("a second default: %v", err)
	}
	second.Spec.Default = false
	made, err := e.client.AtprotoRepos().Create(t.Context(), second, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := e.do(t, request{method: http.MethodPatch, path: resources["AtprotoRepo"] + "/" + made.Name, kind: mergePatch, body: `{"spec":{"default":true}}`})
	if a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "spec.default", repoName) != nil {
		t.Errorf("a change to a second default: %d %s", a.status, a.body)
	}
	a = e.do(t, request{method: http.MethodPatch, path: resources["AtprotoRepo"] + "/" + repoName, kind: mergePatch, body: `{"spec":{"did":"did:plc:bbbbbbbbbbbbbbbbbbbbbbbb"}}`})
	if a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "spec.did") != nil {
		t.Errorf("another DID: %d %s", a.status, a.body)
	}
}

// TestRepoInUseStays: an AtprotoRepo whose records are served is not deleted; its
// condition names the objects; it goes with the last of them.
func TestRepoInUseStays(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	e.create(t, newInfra("b", "x"))
	if err := e.client.AtprotoRepos().Delete(t.Context(), repoName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := e.awaitRepo(t, v1alpha1.ConditionInUse, metav1.ConditionTrue)
	if err := contains(repoCondition(r, v1alpha1.ConditionInUse).Message, "infra/a", "infra/b"); err != nil || r.DeletionTimestamp == nil {
		t.Errorf("%v, %+v", err, r.ObjectMeta)
	}
	e.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Description = "y" }) // it goes on serving
	if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.must(t, request{method: http.MethodPatch, path: infras + "/b", kind: mergePatch, body: `{"spec":{"record":null}}`})
	waitFor(t, "the end of the AtprotoRepo", func() error {
		_, err := e.client.AtprotoRepos().Get(t.Context(), repoName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	if got := e.infra(t, "b"); got.Spec.Description != "x" {
		t.Errorf("the private object: %+v", got)
	}
	if value, _ := e.account.get(t, "b"); value["description"] != "x" {
		t.Errorf("its record: %v", value)
	}
}

// TestWithdrawnAccess: with less access than ReadWrite, writes of a declaration are
// refused with the reason and nothing is stored; the private part can be written;
// and with the access back all works again.
func TestWithdrawnAccess(t *testing.T) {
	t.Parallel()
	for _, access := range []v1alpha1.RepoAccess{v1alpha1.AccessRead, v1alpha1.AccessNone} {
		t.Run(string(access), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, onEmbedded(t))
			e.create(t, newInfra("a", "before"))
			e.settled(t)
			before := e.account.raw(t, "a")
			e.setRepo(t, func(s *v1alpha1.AtprotoRepoSpec) { s.Access = access })
			waitFor(t, "access in effect", func() error {
				r, err := e.client.AtprotoRepos().Get(t.Context(), repoName, metav1.GetOptions{})
				if err == nil && r.Status.Access != access {
					err = fmt.Errorf("access %s", r.Status.Access)
				}
				return err
			})
			for what, r := range map[string]request{
				"PATCH":  {method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"refused"}}`},
				"CREATE": {method: http.MethodPost, path: infras, body: manifest("b", "refused")},
				"DELETE": {method: http.MethodDelete, path: infras + "/a"},
			} {
				if a := e.do(t, r); a.status != http.StatusForbidden || contains(a.failure.Message, repoName, string(access)) != nil {
					t.Errorf("%s: %d %s", what, a.status, a.body)
				}
			}
			e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"metadata":{"labels":{"l":"x"}}}`})
			e.setPhase(t, "a", v1alpha1.PhaseDegraded)
			e.shows(t, "meanwhile", "a")
			if e.account.raw(t, "a") != before {
				t.Errorf("record %s, was %s", e.account.raw(t, "a"), before)
			}
			edited, _ := e.account.get(t, "a")
			edited["description"] = "edited elsewhere"
			e.account.put(t, "a", edited)
			want := map[v1alpha1.RepoAccess]string{v1alpha1.AccessRead: "edited elsewhere", v1alpha1.AccessNone: "before"}[access]
			if got := e.infra(t, "a"); got.Spec.Description != want || got.Labels["l"] != "x" || got.Status.Phase != v1alpha1.PhaseDegraded {
				t.Errorf("object %+v", got)
			}
			e.setRepo(t, func(s *v1alpha1.AtprotoRepoSpec) { s.Access = v1alpha1.AccessReadWrite })
			e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
			if got := e.infra(t, "a"); got.Spec.Description != "edited elsewhere" {
				t.Errorf("afterwards: %q", got.Spec.Description)
			}
			waitFor(t, "publishing", func() error { return contains(e.account.raw(t, "a"), "degraded", "edited elsewhere") })
			e.create(t, newInfra("b", "x"))
		})
	}
}

// TestStaleReads: where the owner prefers a stale answer to none, an outage is
// answered from the view, with a warning that names repository and rev.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t), func(r *v1alpha1.AtprotoRepo) { r.Spec.StaleReads = v1alpha1.StaleReadsAllow })
	e.create(t, newInfra("a", "x"))
	e.settled(t)
	rev := e.account.rev(t)
	if a := e.do(t, request{path: infras}); a.header.Get("Warning") != "" {
		t.Errorf("a warning without need: %q", a.header.Get("Warning"))
	}
	e.proxy.Set(testproxy.Fault{Kind: testproxy.Refused})
	for _, path := range []string{infras, infras + "/a"} {
		a := e.do(t, request{path: path})
		if err := contains(a.header.Get("Warning"), repoName, rev); a.status != http.StatusOK || err != nil || !strings.Contains(a.body, `"name":"a"`) {
			t.Errorf("%s: %d %v %s", path, a.status, err, a.body)
		}
	}
	if a := e.do(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"y"}}`}); a.status < 500 {
		t.Errorf("a write: %d %s", a.status, a.body)
	}
}
