package cases

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// inWorkspace is a client of one workspace, by its own path.
func (e *env) inWorkspace(t *testing.T, ws string) versioned.Interface {
	t.Helper()
	c := rest.CopyConfig(e.Config)
	c.Host += "/clusters/" + ws
	client, err := versioned.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const ownPaths = "workspaces have paths of their own, and the aggregator passes /apis alone"

// Workspaces don't see each other; all of them together can be read and not
// written.
func TestWorkspaces(t *testing.T) {
	devOnly(t, ownPaths)
	e := connect(t, devServer(t, testdev.Options{Workspaces: true}))
	e.create(t, "same")
	for _, ws := range []string{"w1", "w2"} {
		infras := e.inWorkspace(t, ws).SocialwebV1alpha1().Infras()
		o := infra("same")
		o.Spec.Description = ws
		o.Annotations = map[string]string{"kcp.io/cluster": "default"}
		made, err := infras.Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if made.Annotations["kcp.io/cluster"] != ws || made.Spec.Record != nil {
			t.Errorf("in %s: annotations %v, record %v", ws, made.Annotations, made.Spec.Record)
		}
	}
	for ws, want := range map[string]string{"default": "of same", "w1": "w1", "w2": "w2"} {
		infras := e.inWorkspace(t, ws).SocialwebV1alpha1().Infras()
		list, err := infras.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 || list.Items[0].Spec.Description != want {
			t.Errorf("%s: %+v", ws, list.Items)
		}
	}
	if err := e.inWorkspace(t, "w1").SocialwebV1alpha1().Infras().Delete(t.Context(), "same", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	list, err := e.inWorkspace(t, "*").SocialwebV1alpha1().Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		seen[list.Items[i].Annotations["kcp.io/cluster"]] = true
	}
	if len(list.Items) != 2 || !seen["default"] || !seen["w2"] {
		t.Errorf("all: %v", seen)
	}
	for path, want := range map[string]int{
		"/clusters/%2A" + base: 200, "/clusters/*" + base + "/infras?fieldSelector=metadata.name%3Dsame": 200, "/clusters/*" + base + "/infras/same": 400,
	} {
		if a := e.do(t, "GET", path, ""); a.code != want {
			t.Errorf("GET %s: %d %s", path, a.code, a.body)
		}
	}
	if a := e.do(t, "DELETE", "/clusters/*"+base+"/infras", ""); a.code != 405 {
		t.Errorf("deleting in all workspaces: %d %s", a.code, a.body)
	}
}

// At most one AtprotoRepo of a workspace is the default, however many try at
// once.
func TestOneDefaultRepository(t *testing.T) {
	devOnly(t, ownPaths)
	e := connect(t, devServer(t, testdev.Options{Workspaces: true}))
	repos := e.inWorkspace(t, "w1").SocialwebV1alpha1().AtprotoRepos()
	const n = 8
	errs := make(chan error, n)
	for _, name := range names("r-%d", n) {
		go func() {
			_, err := repos.Create(t.Context(), &v1alpha1.AtprotoRepo{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       v1alpha1.AtprotoRepoSpec{DID: "did:plc:ewvi7nxzyoun6zhxrhs64oiz", PDS: e.Repo.Host(), Default: true, Access: v1alpha1.AccessNone},
			}, metav1.CreateOptions{})
			errs <- err
		}()
	}
	made := 0
	for range n {
		if err := <-errs; err == nil {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d defaults were made", made)
	}
}
