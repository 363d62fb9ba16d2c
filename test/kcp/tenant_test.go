package kcp

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testinfra"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	v1alpha1client "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

const (
	// repoName is the AtprotoRepo of every tenant.
	repoName = "main"
	// collection of the records of Infras.
	collection = "computer.socialweb.infra"
)

// tenant is a workspace that binds the export, as the users in it see it, with an
// account of its own whose records are its objects.
type tenant struct {
	*shard
	base    string // of its paths
	name    string
	account *testpds.Client
	client  v1alpha1client.SocialwebV1alpha1Interface
}

// workspace is one without any repository.
func (e *env) workspace(t testing.TB, name string) *tenant {
	t.Helper()
	return e.shard.workspace(t, name)
}

func (s *shard) workspace(t testing.TB, name string) *tenant {
	t.Helper()
	clients, err := versioned.NewForConfigAndClient(&rest.Config{Host: "https://" + kcpHost, QPS: -1},
		&http.Client{Transport: proxy{s, name}})
	if err != nil {
		t.Fatal(err)
	}
	return &tenant{shard: s, base: prefix + "/clusters/" + name, name: name, client: clients.SocialwebV1alpha1()}
}

// tenant is a workspace whose default repository is an account of its own, all of it
// made through the door.
func (e *env) tenant(t testing.TB, name string) *tenant {
	t.Helper()
	w := e.workspace(t, name)
	w.account = e.account(t)
	e.mount(t, w)
	return w
}

// mount makes the tenant's account the default repository of its workspace.
func (e *env) mount(t testing.TB, w *tenant) {
	t.Helper()
	e.credential(t, w.name, repoName, w.account)
	if _, err := w.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: repoName},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: w.account.DID, PDS: e.pds.URL, Default: true,
			CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("workspace %s: %v", w.name, err)
	}
	w.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// credential stores an account's password for a workspace.
func (e *env) credential(t testing.TB, workspace, name string, a *testpds.Client) {
	t.Helper()
	dir := filepath.Join(e.data, "credentials", workspace, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"identifier": a.DID, "password": a.Password, "pds": e.pds.URL} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRepo waits for a condition of the AtprotoRepo.
func (w *tenant) awaitRepo(t testing.TB, condition string, status metav1.ConditionStatus) {
	t.Helper()
	testinfra.AwaitRepo(t, w.client.AtprotoRepos(), repoName, condition, status)
}

// path of something in the workspace, as the shard asks for it.
func (w *tenant) path(inner string) string { return w.base + inner }

// do sends a request to a path of the workspace.
func (w *tenant) do(t testing.TB, r request) answer {
	t.Helper()
	r.path = w.path(r.path)
	return w.shard.do(t, r)
}

// send is do, again where the server asks for that: the PDS was too slow. wanted are answers
// that are waited for, though they ask for it too.
func (w *tenant) send(t testing.TB, r request, wanted ...int) (a answer) {
	t.Helper()
	resent := false
	waitFor(t, "an answer", func() error {
		if a = w.do(t, r); a.later() && !contains(wanted, a.status) {
			resent = true
			return a.err()
		}
		return nil
	})
	a.resent = resent
	return a
}

// must is send for requests that have to succeed. What the first of several has made or
// replaced is read then, and what it has deleted isn't there.
func (w *tenant) must(t testing.TB, r request) answer {
	t.Helper()
	a := w.send(t, r)
	path, _, _ := strings.Cut(r.path, "?")
	switch {
	case a.status < http.StatusMultipleChoices:
		return a
	case a.resent && r.method == http.MethodPost && a.status == http.StatusConflict:
		a = w.must(t, request{path: path + "/" + nameOf(t, r.body)})
		a.status, a.resent = http.StatusCreated, true
		return a
	case a.resent && r.method == http.MethodPut && a.status == http.StatusConflict:
		a = w.must(t, request{path: path})
		a.resent = true
		return a
	case a.resent && r.method == http.MethodDelete && a.status == http.StatusNotFound:
		return a
	}
	t.Fatalf("%s %s in %s: %d %s", r.method, r.path, w.name, a.status, a.body)
	return a
}

// nameOf the object that a request's body is.
func nameOf(t testing.TB, body any) string {
	t.Helper()
	text, ok := body.(string)
	if !ok {
		text = encode(t, body)
	}
	return decode[object](t, text).Name
}

// refused is send for requests that have to be refused, with words in the message.
func (w *tenant) refused(t testing.TB, r request, status int, words ...string) answer {
	t.Helper()
	a := w.send(t, r, status)
	if a.status != status || a.fault.Status != metav1.StatusFailure || int(a.fault.Code) != status {
		t.Errorf("%s %s in %s: %d %s, want %d", r.method, r.path, w.name, a.status, a.body, status)
	}
	for _, word := range words {
		if !strings.Contains(a.fault.Message, word) {
			t.Errorf("%s %s in %s: %q lacks %q", r.method, r.path, w.name, a.fault.Message, word)
		}
	}
	return a
}

// awaitGone waits until nothing is at a path.
func (w *tenant) awaitGone(t testing.TB, path string) {
	t.Helper()
	waitFor(t, "the end of "+path, func() error {
		if a := w.do(t, request{path: path}); a.status != http.StatusNotFound {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}

// infra reads an Infra, consistently.
func (w *tenant) infra(t testing.TB, name string) *v1alpha1.Infra {
	t.Helper()
	out, err := w.client.Infras().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s in %s: %v", name, w.name, err)
	}
	return out
}

// create makes an Infra.
func (w *tenant) create(t testing.TB, name, description string) *v1alpha1.Infra {
	t.Helper()
	out := decode[v1alpha1.Infra](t, w.must(t, request{method: http.MethodPost, path: infras, body: newInfra(name, description)}).body)
	return &out
}

// remove deletes an Infra.
func (w *tenant) remove(t testing.TB, name string) {
	t.Helper()
	w.must(t, request{method: http.MethodDelete, path: infras + "/" + name})
}

// change edits an Infra as it is now, again where it has changed meanwhile.
func (w *tenant) change(t testing.TB, name string, edit func(*v1alpha1.Infra)) *v1alpha1.Infra {
	t.Helper()
	return testinfra.Change(t, w.client.Infras(), name, edit)
}

// settled waits until every Infra and its record agree, with nothing left to be
// published.
func (w *tenant) settled(t testing.TB) {
	t.Helper()
	testinfra.Settled(t, w.client.Infras())
}

// record reads the record of an Infra at the PDS, past the server; nil: there is none.
func (w *tenant) record(t testing.TB, rkey string) map[string]any {
	t.Helper()
	r, err := w.account.Get(t.Context(), collection, rkey)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return nil
	}
	return r.Value
}

// newInfra is an Infra with one contract.
func newInfra(name, description string) *v1alpha1.Infra { return testinfra.New(name, description) }

// newRecord is a valid record with a description.
func newRecord(description string) map[string]any {
	return map[string]any{"$type": collection, "description": description, "contracts": []any{map[string]any{"name": "web", "state": "staged"}}}
}
