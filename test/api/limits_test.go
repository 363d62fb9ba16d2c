package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// limited starts a server with limits, whose door for kcp's shards is open, with a
// repository in each workspace. It is made through the door: what the server itself makes
// is counted once etcd tells of it, what others make at once.
func limited(t *testing.T, q apiserver.QuotaOptions, workspaces ...string) []*env {
	t.Helper()
	accounts := embedded(t, "alice", "bob")
	s := newServerWith(t, accounts[0].pds.PLCURL, func(o *apiserver.Options) {
		o.Quota = &q
		letShardsIn(t, o)
	})
	var out []*env
	for i, ws := range workspaces {
		e := &env{server: s.throughKCP(t, ws), account: accounts[i], proxy: newProxy(t, accounts[i])}
		e.credential(t, ws, repoName, accounts[i].DID, accounts[i].Password)
		e.mount(t)
		out = append(out, e)
	}
	return out
}

// letShardsIn opens the door for kcp's shards to the client of throughKCP.
func letShardsIn(t *testing.T, o *apiserver.Options) {
	t.Helper()
	pki, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	o.KCP.ShardClientCAFile, o.KCP.ShardAllowedNames = pki.CACert, []string{"admin"}
}

// collectionManifest is a collection of a repository that needn't be there.
func collectionManifest(name string) record {
	return record{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "InfraCollection",
		"metadata": record{"name": name}, "spec": record{"repoRef": record{"name": repoName}},
	}
}

// throughKCP is s as a shard of kcp reaches one workspace.
func (s *server) throughKCP(t *testing.T, workspace string) *server {
	t.Helper()
	pki, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	out := *s
	out.config = rest.AnonymousClientConfig(s.config)
	out.config.Host += "/services/infra/clusters/" + workspace
	out.config.CertFile, out.config.KeyFile = pki.AdminCert, pki.AdminKey
	if out.http, err = rest.HTTPClientFor(out.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.http.CloseIdleConnections)
	clients, err := versioned.NewForConfigAndClient(out.config, out.http)
	if err != nil {
		t.Fatal(err)
	}
	out.client = clients.SocialwebV1alpha1()
	return &out
}

// refusedBy checks that a write was refused for a limit of the workspace, and that
// nothing of another is told.
func refusedBy(t *testing.T, what string, a answer, limit, workspace string) {
	t.Helper()
	if a.status != http.StatusForbidden || a.failure.Reason != metav1.StatusReasonForbidden ||
		contains(a.failure.Message, "exceeded quota: workspace "+workspace+", requested: "+limit+"=", ", used: "+limit+"=", ", limited: "+limit+"=", "--workspace-max-"+limit) != nil {
		t.Errorf("%s: %d %s %v", what, a.status, a.body, a.err)
	}
	if strings.Contains(a.body, "wide") {
		t.Errorf("%s tells of another workspace: %s", what, a.body)
	}
}

// dryRun is a request that writes nothing.
func dryRun(r request) request {
	sep := "?"
	if strings.Contains(r.path, "?") {
		sep = "&"
	}
	r.path += sep + "dryRun=All"
	return r
}

// refusedAlike checks that a write is refused for a limit of the workspace, and its dry run
// in the same words, but for what the workspace has meanwhile and for a name that was made.
func refusedAlike(t *testing.T, e *env, what string, r request, limit string) {
	t.Helper()
	words := map[bool]string{}
	for _, dry := range []bool{true, false} {
		sent := r
		if dry {
			sent = dryRun(r)
		}
		a := e.do(t, sent)
		refusedBy(t, fmt.Sprintf("%s, dry run %t", what, dry), a, limit, "full")
		_, said, _ := strings.Cut(a.failure.Message, " is forbidden: ")
		words[dry], _, _ = strings.Cut(said, ", used: ")
	}
	if words[true] != words[false] {
		t.Errorf("%s: a dry run says %q, the write %q", what, words[true], words[false])
	}
}

// counted waits until a workspace is seen to be too full for r: what the server itself
// makes, and a status, are counted once etcd tells of them.
func (s *server) counted(t *testing.T, what string, r request) {
	t.Helper()
	waitFor(t, what+" to be counted", func() error {
		if a := s.do(t, dryRun(r)); a.status != http.StatusForbidden {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}

// refusals are how many are counted in this process.
func refusals(workspace, limit string) (n int) {
	_, rest, _ := strings.Cut(string(metricsText()), fmt.Sprintf("infra_apiserver_workspace_refused_total{limit=%q,workspace=%q} ", limit, workspace))
	if _, err := fmt.Sscan(rest, &n); err != nil {
		return 0
	}
	return n
}
