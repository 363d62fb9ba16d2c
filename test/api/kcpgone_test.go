package api

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/testkcp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// saysBound is what everything that leads to repositories says of its workspace: each
// status and reason once. Of what says nothing it is "".
func (e *env) saysBound(t *testing.T) (string, error) {
	t.Helper()
	repos, err := e.client.AtprotoRepos().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	infras, err := e.client.InfraCollections().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	ephemerals, err := e.client.EphemeralInfraCollections().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	if len(repos.Items) != 1 || len(infras.Items) != 1 || len(ephemerals.Items) != 1 {
		return "", fmt.Errorf("%d AtprotoRepos, %d and %d collections", len(repos.Items), len(infras.Items), len(ephemerals.Items))
	}
	says := map[string]bool{}
	for _, list := range [][]metav1.Condition{repos.Items[0].Status.Conditions, infras.Items[0].Status.Conditions, ephemerals.Items[0].Status.Conditions} {
		text := ""
		if c := meta.FindStatusCondition(list, v1alpha1.ConditionWorkspaceBound); c != nil {
			text = string(c.Status) + " " + c.Reason
		}
		says[text] = true
	}
	if len(says) != 1 {
		return "", fmt.Errorf("they say %v", says)
	}
	for text := range says {
		return text, nil
	}
	return "", nil
}

// TestWorkspaceGone: the AtprotoRepos and collections of a workspace that doesn't bind the
// export any more say so, and that it is back; those of others say nothing.
func TestWorkspaceGone(t *testing.T) {
	t.Parallel()
	accounts := embedded(t, "alice", "bob")
	kcp := testkcp.Start(t, 2)
	keepSecret(testkcp.Token)
	clock := testclock.NewFakeClock(time.Now())
	s := newServerWith(t, accounts[0].pds.PLCURL, func(o *apiserver.Options) {
		o.Repos.KCPCredentials = apiserver.KCPCredentials{Kubeconfig: kcp.Kubeconfig(t), Export: testkcp.Export, Clock: clock}
	})
	var envs []*env
	for i, ws := range []string{"goes", "stays"} {
		kcp.Shard(i).Bind(ws, true)
		e := &env{server: s.workspace(t, ws), account: accounts[i], proxy: newProxy(t, accounts[i])}
		e.credential(t, ws, repoName, accounts[i].DID, accounts[i].Password)
		e.mount(t)
		spec := v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: repoName}}
		if _, err := e.client.InfraCollections().Create(t.Context(), &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.client.EphemeralInfraCollections().Create(t.Context(), &v1alpha1.EphemeralInfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		envs = append(envs, e)
	}
	goes, stays := envs[0], envs[1]
	until := func(want string) {
		t.Helper()
		waitFor(t, "the condition "+want, func() error {
			clock.Step(10 * time.Second)
			if says, err := goes.saysBound(t); err != nil || says != want {
				return fmt.Errorf("they say %q, %w", says, err)
			}
			return nil
		})
	}
	until("")
	kcp.Shard(0).Unbind("goes")
	until("False " + v1alpha1.ReasonWorkspaceGone)
	kcp.Shard(0).Bind("goes", true)
	until("True " + v1alpha1.ReasonWorkspaceBound)
	if says, err := stays.saysBound(t); err != nil || says != "" {
		t.Errorf("in a workspace that never went: %q, %v", says, err)
	}
}
