package kcp

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// front is the consumers' side of kcp: /clusters/<workspace>/… of it goes to the server
// as a shard sends it on, with the user's credentials taken away.
type front struct {
	*httptest.Server
	again atomic.Bool // an answer asked to send the request again
}

func (e *env) front(t testing.TB) *front {
	t.Helper()
	target, err := url.Parse(e.shard.server + prefix)
	if err != nil {
		t.Fatal(err)
	}
	s := &front{}
	s.Server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Transport: e.shard.http.Transport,
		ModifyResponse: func(r *http.Response) error {
			if r.Header.Get("Retry-After") != "" {
				s.again.Store(true)
			}
			return nil
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = kcpHost
			for name := range r.Out.Header {
				if name == "Authorization" || strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
	})
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// kubeconfig of a user in a workspace.
func kubeconfig(t testing.TB, s *front, workspace string) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["kcp"] = &clientcmdapi.Cluster{Server: s.URL + "/clusters/" + workspace, CertificateAuthorityData: pemOf(s.Certificate())}
	c.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: "of-a-user-of-kcp"}
	c.Contexts["kcp"] = &clientcmdapi.Context{Cluster: "kcp", AuthInfo: "user"}
	c.CurrentContext = "kcp"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// consumer is a workspace by a consumer's own client configuration, whose URL ends with
// /clusters/<workspace>.
func consumer(t testing.TB, c *rest.Config, name string, a *testpds.Client) *tenant {
	t.Helper()
	u, err := url.Parse(c.Host)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	clients, err := versioned.NewForConfigAndClient(c, client)
	if err != nil {
		t.Fatal(err)
	}
	return &tenant{shard: &shard{server: u.Scheme + "://" + u.Host, http: client}, base: u.Path, name: name, account: a, client: clients.SocialwebV1alpha1()}
}

// TestThroughAFront: the same that a recorded shard shows, by an ordinary client and
// its kubeconfig, as with a real kcp.
func TestThroughAFront(t *testing.T) {
	beside(t)
	e := start(t)
	behind := e.tenant(t, "fronted")
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig(t, e.front(t), "fronted"))
	if err != nil {
		t.Fatal(err)
	}
	lifecycle(t, consumer(t, c, "fronted", behind.account), behind.client)
}

// TestKubectl: what people type in a workspace that binds the export.
func TestKubectl(t *testing.T) {
	beside(t)
	e := start(t)
	w := e.tenant(t, "typed")
	s := e.front(t)
	k := testkubectl.New(t, kubeconfig(t, s, "typed"))
	const manifest = `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"shop"},"spec":{"description":"%s","contracts":[{"name":"web"},{"name":"db"}]}}`
	of := func(description string) string { return strings.Replace(manifest, "%s", description, 1) }
	says := func(want, got string) {
		t.Helper()
		if strings.TrimSpace(got) != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	// done is says of a command whose request client-go sends again where the server asks for
	// it, as after a put that the PDS was too slow for: it is told then that it was done before.
	done := func(want, before, stdin string, args ...string) {
		t.Helper()
		s.again.Store(false)
		if r := k.Do(t, stdin, args...); r.Code == 0 || !s.again.Load() || !strings.Contains(r.Err, before) {
			says(want, r.Out+r.Err)
		}
	}
	done("infra.socialweb.computer/shop created", "already exists", of("applied"), "apply", "-f", "-")
	says("infra.socialweb.computer/shop configured", k.RunIn(t, of("applied again"), "apply", "-f", "-"))
	says("infra.socialweb.computer/shop unchanged", k.RunIn(t, of("applied again"), "apply", "-f", "-"))
	if r := w.record(t, "shop"); r["description"] != "applied again" {
		t.Errorf("record %v", r)
	}
	says("infra.socialweb.computer/shop serverside-applied", k.RunIn(t, of("by the server"), "apply", "--server-side", "--force-conflicts", "-f", "-"))
	says("infra.socialweb.computer/shop patched", k.Run(t, "patch", "infra", "shop", "--type", "merge", "-p", `{"spec":{"description":"patched"}}`))
	if r := w.record(t, "shop"); r["description"] != "patched" {
		t.Errorf("record %v", r)
	}
	out := strings.Split(k.Run(t, "get", "infras"), "\n")
	if len(out) < 2 || strings.Join(strings.Fields(out[0]), " ") != "NAME PHASE CONTRACTS RECORD AGE" || !strings.HasPrefix(out[1], "shop ") {
		t.Errorf("get: %q", out)
	}
	if text := k.Fails(t, strings.Replace(of("x"), `"name":"db"`, `"name":"db","colour":"red"`, 1), "apply", "--server-side", "-f", "-"); !strings.Contains(text, "colour") {
		t.Errorf("an unknown field: %s", text)
	}
	if text := k.Run(t, "explain", "infra.spec.contracts"); !strings.Contains(text, "KIND:       Infra") {
		t.Errorf("explain: %s", text)
	}
	done(`infra.socialweb.computer "shop" deleted`, "not found", "", "delete", "infra", "shop")
	if text := k.Fails(t, "", "get", "infra", "shop"); !strings.Contains(text, `infras.socialweb.computer "shop" not found`) {
		t.Errorf("get of what is not there: %s", text)
	}
	if r := w.record(t, "shop"); r != nil {
		t.Errorf("record %v", r)
	}
	if l := w.must(t, request{path: infras}); l.status != http.StatusOK || strings.Contains(l.body, "shop") {
		t.Errorf("list %s", l.body)
	}
}
