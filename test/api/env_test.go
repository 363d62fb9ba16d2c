package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testinfra"
	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// env is a server whose default repository is an account behind a fault proxy.
type env struct {
	*server
	account *account
	proxy   *testproxy.Proxy
	repo    *v1alpha1.AtprotoRepo
}

// repoName is the AtprotoRepo of an env.
const repoName = "main"

// newEnv starts a server with account a as its default repository, mounted and
// ready. change, if any, changes the AtprotoRepo before it is created.
func newEnv(t *testing.T, a *account, change ...func(*v1alpha1.AtprotoRepo)) *env {
	t.Helper()
	e := &env{server: newServer(t, a.pds.PLCURL), account: a, proxy: newProxy(t, a)}
	e.mount(t, change...)
	return e
}

// newProxy starts a proxy in front of a's PDS.
func newProxy(t *testing.T, a *account) *testproxy.Proxy {
	t.Helper()
	p, err := testproxy.New(a.pds.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		keepSecret(p.Tokens()...)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// deaf makes an AtprotoRepo whose event source never connects: once it is ready, the server
// looks at the repository where a request needs that, and never by itself. (A stream
// that is connected and then falls silent begins with looks at the whole repository, the
// last of them seconds later.)
func deaf(r *v1alpha1.AtprotoRepo) {
	r.Spec.EventSource, r.Spec.JetstreamURL = v1alpha1.EventSourceJetstream, "ws://127.0.0.1:1"
}

// credential is server's, with the proxy as the PDS that the password may go to:
// the DID document names the PDS behind it.
func (e *env) credential(t *testing.T, workspace, name, identifier, password string) {
	t.Helper()
	e.server.credential(t, workspace, name, identifier, password)
	if err := os.WriteFile(filepath.Join(e.creds, workspace, name, "pds"), []byte(e.proxy.URL()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mount creates the AtprotoRepo and waits until it is ready.
func (e *env) mount(t *testing.T, change ...func(*v1alpha1.AtprotoRepo)) {
	t.Helper()
	e.credential(t, "default", repoName, e.account.DID, e.account.Password)
	repo := &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: repoName},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: e.account.DID, PDS: e.proxy.URL(), Default: true,
			CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName},
		},
	}
	for _, f := range change {
		f(repo)
	}
	if _, err := e.client.AtprotoRepos().Create(t.Context(), repo, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if repo.Spec.Access == "" || repo.Spec.Access == v1alpha1.AccessReadWrite {
		e.repo = e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
	}
}

// awaitRepo waits for a condition of the AtprotoRepo, of its newest generation.
func (e *env) awaitRepo(t *testing.T, condition string, status metav1.ConditionStatus) *v1alpha1.AtprotoRepo {
	t.Helper()
	return testinfra.AwaitRepo(t, e.client.AtprotoRepos(), repoName, condition, status)
}

// setRepo changes the AtprotoRepo's spec.
func (e *env) setRepo(t *testing.T, change func(*v1alpha1.AtprotoRepoSpec)) {
	t.Helper()
	waitFor(t, "change of the AtprotoRepo", func() error { // its status is written meanwhile
		repo, err := e.client.AtprotoRepos().Get(t.Context(), repoName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&repo.Spec)
		_, err = e.client.AtprotoRepos().Update(t.Context(), repo, metav1.UpdateOptions{})
		return err
	})
}

// newInfra is an Infra with one contract.
func newInfra(name, description string) *v1alpha1.Infra { return testinfra.New(name, description) }

// create makes an Infra through the API.
func (s *server) create(t testing.TB, infra *v1alpha1.Infra) *v1alpha1.Infra {
	t.Helper()
	a, resent := s.send(t, request{method: http.MethodPost, path: infras, body: infra})
	switch {
	case resent && a.status == http.StatusConflict && a.failure.Reason == metav1.StatusReasonAlreadyExists:
		return s.infra(t, infra.Name)
	case a.err != nil || a.status != http.StatusCreated:
		t.Fatalf("create %s: %d %s %v", infra.Name, a.status, a.body, a.err)
	}
	out := decode[v1alpha1.Infra](t, a.body)
	out.TypeMeta = metav1.TypeMeta{} // as client-go has it
	return &out
}

// createSettled makes an Infra and waits until nothing of it changes by itself.
func (s *server) createSettled(t testing.TB, infra *v1alpha1.Infra) *v1alpha1.Infra {
	t.Helper()
	s.create(t, infra)
	s.settled(t)
	return s.infra(t, infra.Name)
}

// infra reads an Infra, consistently.
func (s *server) infra(t testing.TB, name string) *v1alpha1.Infra {
	t.Helper()
	out, err := s.client.Infras().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return out
}

// change edits an Infra as it is now, again where it has changed meanwhile.
func (s *server) change(t testing.TB, name string, edit func(*v1alpha1.Infra)) *v1alpha1.Infra {
	t.Helper()
	return testinfra.Change(t, s.client.Infras(), name, edit)
}

// inCache waits until what is read without the PDS shows objects: a cache is told of what
// was written, and may be told late.
func (s *server) inCache(t testing.TB, names ...string) {
	t.Helper()
	waitFor(t, "the cache", func() error {
		l, err := s.client.Infras().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		shown := shownIn(l)
		for _, n := range names {
			if _, ok := shown[n]; !ok {
				return fmt.Errorf("it has %v, not %s", keys(shown), n)
			}
		}
		return nil
	})
}

// cached reads an Infra from the view alone.
func (s *server) cached(ctx context.Context, name string) (*v1alpha1.Infra, error) {
	return s.client.Infras().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
}

// condition of an Infra; the zero one where it has none of that type.
func condition(i *v1alpha1.Infra, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(i.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// settled waits until every Infra and its record agree, with nothing left to be
// published.
func (s *server) settled(t testing.TB) {
	t.Helper()
	testinfra.Settled(t, s.client.Infras())
}

// keys of a map, sorted.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
