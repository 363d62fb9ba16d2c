package api

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// workspace is s as the door of one workspace shows it.
func (s *server) workspace(t *testing.T, name string) *server {
	t.Helper()
	out := *s
	out.config = rest.CopyConfig(s.config)
	out.config.Host += "/clusters/" + name
	clients, err := versioned.NewForConfigAndClient(out.config, s.http)
	if err != nil {
		t.Fatal(err)
	}
	out.client = clients.SocialwebV1alpha1()
	return &out
}

// TestWorkspacesAreApart: two workspaces with repositories of their own have
// objects of the same names, and know nothing of each other, not even that the
// other's PDS is dead; one can't use the other's credentials.
func TestWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	accounts := embedded(t, "alice", "bob")
	s := newServer(t, accounts[0].pds.PLCURL)
	var envs []*env
	for i, ws := range []string{"one", "two"} {
		e := &env{server: s.workspace(t, ws), account: accounts[i], proxy: newProxy(t, accounts[i])}
		e.credential(t, ws, repoName, accounts[i].DID, accounts[i].Password)
		e.mount(t)
		e.create(t, newInfra("a", ws))
		envs = append(envs, e)
	}
	one, two := envs[0], envs[1]
	accounts[0].put(t, "only-one", infraRecord("x"))
	one.shows(t, "one", "a", "only-one")
	two.shows(t, "two", "a")
	for _, e := range envs {
		if got := e.infra(t, "a"); got.Spec.Description != e.account.records(t)["a"].description {
			t.Errorf("%q", got.Spec.Description)
		}
	}
	if a := s.do(t, request{path: infras}); a.status != http.StatusOK || len(decode[list](t, a.body).Items) != 0 {
		t.Errorf("the default workspace: %d %s", a.status, a.body)
	}
	all := decode[list](t, s.must(t, request{path: "/clusters/*" + infras}).body)
	if len(all.Items) != 3 {
		t.Errorf("%d objects in all workspaces", len(all.Items))
	}

	w := two.watch(t, infras+"?watch=1&resourceVersion="+two.rv(t))
	one.proxy.Set(testproxy.Fault{Kind: testproxy.Refused})
	if a := one.do(t, request{path: infras}); a.status != unavailable || contains(a.failure.Message, accounts[0].DID) != nil {
		t.Errorf("one, without its PDS: %d %s", a.status, a.body)
	}
	if err := one.client.Infras().Delete(t.Context(), "only-one", metav1.DeleteOptions{}); err == nil {
		t.Error("a deletion without the PDS succeeded")
	}
	two.shows(t, "two, while the other's PDS is dead", "a")
	accounts[1].put(t, "b", infraRecord("x"))
	if ev := w.untilType(t, "ADDED", "b"); ev.infra(t).Annotations["kcp.io/cluster"] != "two" {
		t.Errorf("event %s", ev.Object)
	}

	theirs := &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Spec:       v1alpha1.AtprotoRepoSpec{DID: accounts[0].DID, PDS: two.proxy.URL(), CredentialsRef: &v1alpha1.CredentialsReference{Name: "stolen"}},
	}
	s.credential(t, "one", "stolen", accounts[0].DID, accounts[0].Password)
	if _, err := two.client.AtprotoRepos().Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "condition Authorized", func() error {
		r, err := two.client.AtprotoRepos().Get(t.Context(), "theirs", metav1.GetOptions{})
		if c := repoCondition(r, v1alpha1.ConditionAuthorized); err == nil && c.Status != metav1.ConditionFalse {
			err = fmt.Errorf("condition %+v", c)
		}
		return err
	})
}

// TestRestartKeepsWorkspacesApart: a start finds what each workspace has, though the
// others have objects of the same names.
func TestRestartKeepsWorkspacesApart(t *testing.T) {
	t.Parallel()
	accounts := embedded(t, "alice", "bob", "carol")
	s := newServer(t, accounts[0].pds.PLCURL)
	var envs []*env
	for i, ws := range []string{"one", "two", "three"} {
		e := &env{server: s.workspace(t, ws), account: accounts[i], proxy: newProxy(t, accounts[i])}
		e.credential(t, ws, repoName, accounts[i].DID, accounts[i].Password)
		e.mount(t)
		e.create(t, newInfra("same", ws))
		collection := &v1alpha1.InfraCollection{
			ObjectMeta: metav1.ObjectMeta{Name: "same"},
			Spec:       v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: repoName}},
		}
		if _, err := e.client.InfraCollections().Create(t.Context(), collection, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		envs = append(envs, e)
	}
	s.restart(t)
	for i, ws := range []string{"one", "two", "three"} {
		e := envs[i]
		e.server = s.workspace(t, ws)
		accounts[i].put(t, "new", infraRecord("since the start"))
		e.shows(t, ws, "new", "same") // a consistent list: its repository is mounted
		if got := e.infra(t, "same"); got.Spec.Description != ws || got.Annotations["kcp.io/cluster"] != ws {
			t.Errorf("%s: %+v", ws, got)
		}
		waitFor(t, "the collection of "+ws, func() error {
			c, err := e.client.InfraCollections().Get(t.Context(), "same", metav1.GetOptions{})
			if err == nil && c.Status.Items != 2 {
				err = fmt.Errorf("%d items", c.Status.Items)
			}
			return err
		})
	}
}

// TestSecondRepo: an object goes to the repository that it names; the records of
// one that isn't the default appear by a binding alone.
func TestSecondRepo(t *testing.T) {
	t.Parallel()
	accounts := embedded(t, "alice", "bob")
	e := newEnv(t, accounts[0])
	bob := accounts[1]
	e.credential(t, "default", "second", bob.DID, bob.Password)
	if _, err := e.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "second"},
		Spec:       v1alpha1.AtprotoRepoSpec{DID: bob.DID, PDS: e.proxy.URL(), CredentialsRef: &v1alpha1.CredentialsReference{Name: "second"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bob.put(t, "theirs", infraRecord("by bob"))
	obj := newInfra("a", "in the second")
	obj.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "second"}}
	waitFor(t, "the second repository", func() error {
		_, err := e.client.Infras().Create(t.Context(), obj, metav1.CreateOptions{})
		return err
	})
	if value, _ := bob.get(t, "a"); value["description"] != "in the second" {
		t.Errorf("record %v", value)
	}
	if value, _ := accounts[0].get(t, "a"); value != nil {
		t.Errorf("record in the default repository: %v", value)
	}
	e.shows(t, "before it is bound", "a")
	follow := newInfra("mine", "")
	follow.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "second"}, URI: "at://" + bob.DID + "/" + infraCollection + "/theirs"}
	if got := e.create(t, follow); got.Spec.Description != "by bob" {
		t.Errorf("%+v", got)
	}
	bob.put(t, "theirs", infraRecord("by bob again"))
	if got := e.infra(t, "mine"); got.Spec.Description != "by bob again" {
		t.Errorf("%q", got.Spec.Description)
	}
}
