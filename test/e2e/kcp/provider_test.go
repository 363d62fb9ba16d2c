//go:build e2e

package kcp

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/artifacts/kcp"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// provider is a workspace to be set up.
type provider struct {
	*testing.T
	k    *testkubectl.Kubectl
	door string // base URL of the replica, as shards reach it
	args []string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	lane := harness.NewLane(t, "https://"+plane.Replicas[0].Addr)
	lane.Open(t)
	authorities := filepath.Join(t.TempDir(), "door.crt")
	if err := os.WriteFile(authorities, doorAuthority.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return &provider{
		T: t, k: plane.Kubectl(t), door: "https://localhost" + lane.Addr[strings.LastIndex(lane.Addr, ":"):],
		args: []string{"kcp", "init", "--url-ca-file=" + authorities},
	}
}

// open is a server that lets everybody in.
func (p *provider) open() string {
	p.Helper()
	pair, err := doorAuthority.Serving("127.0.0.1")
	if err != nil {
		p.Fatal(err)
	}
	c, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		p.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	s.StartTLS()
	p.Cleanup(s.Close)
	return s.URL
}

// objects is how many of them a provider workspace gets.
func (p *provider) objects() int {
	all, err := kcp.Provider()
	if err != nil {
		p.Fatal(err)
	}
	return len(all)
}

func (p *provider) shard(name, url string) {
	p.Helper()
	p.k.RunIn(p.T, fmt.Sprintf(`{"apiVersion": "core.kcp.io/v1alpha1", "kind": "Shard", "metadata": {"name": %q}, "spec": {"virtualWorkspaceURL": %q}}`, name, url),
		"apply", "--server-side", "-f", "-")
}

// status as kcp's controllers write it.
func (p *provider) status(object, status string) {
	p.Helper()
	p.k.Run(p.T, "patch", object, "--subresource=status", "--type=merge", "-p", `{"status": `+status+`}`)
}

func (p *provider) ok(args ...string) string {
	p.Helper()
	out, err := plane.Server(p.T, append(p.args, args...)...)
	if err != nil {
		p.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func (p *provider) fails(args ...string) string {
	p.Helper()
	out, err := plane.Server(p.T, append(p.args, args...)...)
	if err == nil {
		p.Fatalf("%v was accepted:\n%s", args, out)
	}
	return out
}

// refusal of an init that writes nothing, with what it says.
type refusal struct {
	p    *provider
	want []string
}

func (p *provider) refused(want ...string) refusal { return refusal{p, want} }

func (r refusal) with(url string, args ...string) {
	r.p.Helper()
	out := r.p.fails(append(args, "--url="+url)...)
	for _, want := range append(r.want, "nothing was written") {
		if !strings.Contains(out, want) {
			r.p.Errorf("%q is missing:\n%s", want, out)
		}
	}
	for _, done := range []string{" created\n", " configured\n", " unchanged\n"} {
		if strings.Contains(out, done) {
			r.p.Errorf("it wrote:\n%s", out)
		}
	}
}
