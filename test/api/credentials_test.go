package api

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// unauthorized starts a server whose AtprotoRepo has credentials that won't do, and
// checks that it serves reads and says what is wrong.
func unauthorized(t *testing.T, a *account, reason string, spoil func(*env, *v1alpha1.AtprotoRepo)) *env {
	t.Helper()
	e := &env{server: newServer(t, a.pds.PLCURL), account: a, proxy: newProxy(t, a)}
	a.put(t, "a", infraRecord("theirs"))
	e.credential(t, "default", repoName, a.DID, a.Password)
	repo := &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: repoName},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: a.DID, PDS: e.proxy.URL(), Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName},
		},
	}
	spoil(e, repo)
	if _, err := e.client.AtprotoRepos().Create(t.Context(), repo, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := e.awaitRepo(t, v1alpha1.ConditionAuthorized, metav1.ConditionFalse)
	if c := repoCondition(r, v1alpha1.ConditionAuthorized); c.Reason != reason || contains(c.Message, "wrong-word") == nil {
		t.Errorf("condition %+v", c)
	}
	if repoCondition(r, v1alpha1.ConditionReady).Status == metav1.ConditionTrue || r.Status.Access != v1alpha1.AccessRead {
		t.Errorf("status %+v", r.Status)
	}
	waitFor(t, "reads", func() error {
		a := e.do(t, request{path: infras})
		return contains(a.body, "theirs")
	})
	if a := e.do(t, request{method: http.MethodPost, path: infras, body: manifest("b", "x")}); a.status != http.StatusForbidden {
		t.Errorf("CREATE: %d %s", a.status, a.body)
	}
	return e
}

// TestMissingCredentials: reads go on, the condition says what is missing, and the
// credentials that come later are used without a restart.
func TestMissingCredentials(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	e := unauthorized(t, a, "Refused", func(e *env, _ *v1alpha1.AtprotoRepo) {
		if err := os.RemoveAll(filepath.Join(e.creds, "default")); err != nil {
			t.Fatal(err)
		}
	})
	e.credential(t, "default", repoName, a.DID, a.Password)
	e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
	e.create(t, newInfra("b", "x"))
}

// TestWrongCredentials: the same for a wrong password, for another account's, and
// for none at all.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	t.Run("password", func(t *testing.T) {
		t.Parallel()
		unauthorized(t, onEmbedded(t), "Refused", func(e *env, _ *v1alpha1.AtprotoRepo) {
			e.credential(t, "default", repoName, e.account.DID, "wrong-word")
		})
	})
	t.Run("another account", func(t *testing.T) {
		t.Parallel()
		a, other := onReference(t), onReference(t)
		unauthorized(t, a, "Refused", func(e *env, _ *v1alpha1.AtprotoRepo) {
			e.credential(t, "default", repoName, other.DID, other.Password)
		})
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		unauthorized(t, onEmbedded(t), "NoCredentials", func(_ *env, r *v1alpha1.AtprotoRepo) { r.Spec.CredentialsRef = nil })
	})
}

// TestPasswordIsChanged: a server whose password is changed at the PDS goes on with
// the new one once it is given, without a restart.
func TestPasswordIsChanged(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	e.account.login(t)
	next := e.account.must(t, "com.atproto.server.createAppPassword", nil, record{"name": "next"}).text("password")
	keepSecret(next)
	e.proxy.Set(testproxy.Fault{Kind: testproxy.Revoked})
	e.credential(t, "default", repoName, e.account.DID, next)
	e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"y"}}`})
	if value, _ := e.account.get(t, "a"); value["description"] != "y" {
		t.Errorf("record %v", value)
	}
}

// TestSwapIsProbed: a PDS that ignores swapRecord would lose edits: its repository
// can be read only, and the condition says why.
func TestSwapIsProbed(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	e := &env{server: newServer(t, a.pds.PLCURL), account: a, proxy: newProxy(t, a)}
	e.proxy.Set(testproxy.Fault{Kind: testproxy.NoSwap}, "com.atproto.repo.putRecord")
	e.credential(t, "default", repoName, a.DID, a.Password)
	if _, err := e.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: repoName},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: a.DID, PDS: e.proxy.URL(), Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := e.awaitRepo(t, v1alpha1.ConditionSwapSupported, metav1.ConditionFalse)
	if r.Status.Access != v1alpha1.AccessRead || repoCondition(r, v1alpha1.ConditionReady).Status == metav1.ConditionTrue {
		t.Errorf("status %+v", r.Status)
	}
	if a := e.do(t, request{method: http.MethodPost, path: infras, body: manifest("b", "x")}); a.status != http.StatusForbidden {
		t.Errorf("CREATE: %d %s", a.status, a.body)
	}
	repo := a.must(t, "com.atproto.repo.describeRepo", url.Values{"repo": {a.DID}}, nil)
	if got := fmt.Sprint(repo.body["collections"]); got != "[]" {
		t.Errorf("the probe left collections %s", got)
	}
}
