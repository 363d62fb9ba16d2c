package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/testkcp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// authorized waits for what condition Authorized of a workspace's AtprotoRepo says.
func (e *env) authorized(t *testing.T, status metav1.ConditionStatus, says string) {
	t.Helper()
	waitFor(t, "condition Authorized "+says, func() error {
		r, err := e.client.AtprotoRepos().Get(t.Context(), repoName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := repoCondition(r, v1alpha1.ConditionAuthorized); c.Status != status || !strings.Contains(c.Message, says) {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
}

// TestCredentialsOfKCP: an AtprotoRepo of a workspace gets its credentials from a Secret of
// the workspace, once that accepts the permission claim, says until then what is missing,
// and no Secret of it ever goes to the server's own workspace, which has a directory.
func TestCredentialsOfKCP(t *testing.T) {
	t.Parallel()
	accounts := embedded(t, "alice", "bob")
	kcp := testkcp.Start(t, 2)
	keepSecret(testkcp.Token)
	kcp.Shard(0).Bind("other", true)
	s := newServerWith(t, accounts[0].pds.PLCURL, func(o *apiserver.Options) {
		o.Repos.KCPCredentials = apiserver.KCPCredentials{Namespace: "infra", Kubeconfig: kcp.Kubeconfig(t), Export: testkcp.Export}
	})
	own := &env{server: s, account: accounts[1], proxy: newProxy(t, accounts[1])}
	own.mount(t)

	e := &env{server: s.workspace(t, "tenant"), account: accounts[0], proxy: newProxy(t, accounts[0])}
	// What the directory has for the workspace isn't for a tenant of kcp.
	e.credential(t, "tenant", repoName, accounts[0].DID, accounts[0].Password)
	repo := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: repoName}, Spec: v1alpha1.AtprotoRepoSpec{
		DID: e.account.DID, PDS: e.proxy.URL(), Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: "alice"},
	}}
	if _, err := e.client.AtprotoRepos().Create(t.Context(), repo, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.authorized(t, metav1.ConditionFalse, "doesn't bind the export")
	kcp.Shard(1).Bind("tenant", true)
	e.authorized(t, metav1.ConditionFalse, "no Secret infra/alice")
	kcp.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/secrets/") {
			return false
		}
		testkcp.Refuse(w, apierrors.NewInternalError(errors.New("kcp's etcd is away")))
		return true
	})
	e.authorized(t, metav1.ConditionFalse, "kcp's etcd is away")
	kcp.Shard(1).PutSecret("tenant", "infra", "alice", true, map[string]string{
		credentials.IdentifierKey: e.account.DID, credentials.PasswordKey: e.account.Password, credentials.PDSKey: e.proxy.URL(),
	})
	kcp.Fail(nil)
	e.authorized(t, metav1.ConditionTrue, "")
	e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
	e.create(t, newInfra("web", "of a tenant"))
	if got := e.account.records(t)["web"].description; got != "of a tenant" {
		t.Errorf("the record says %q", got)
	}
	for _, path := range kcp.Requests() {
		if strings.Contains(path, "/clusters/default/") || strings.Contains(path, "/clusters/*/") && !strings.HasSuffix(path, "/apibindings") {
			t.Errorf("asked for %s", path)
		}
	}
}
