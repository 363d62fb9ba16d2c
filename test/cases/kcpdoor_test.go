package cases

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// authority signs certificates of clients.
type authority struct {
	*certpair.Pair
	file string
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	ca, err := certpair.Sign(nil, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if err != nil {
		t.Fatal(err)
	}
	pem, _, err := ca.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return authority{ca, file}
}

// client has a certificate that says that it is name, of the masters.
func (a authority) client(t *testing.T, e *env, name string) *env {
	t.Helper()
	p, err := certpair.Sign(a.Pair, time.Now().Add(-time.Minute), time.Now().Add(time.Hour), x509.Certificate{
		Subject:  pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(e.Config.CAData)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS13,
		// It is sent whether or not the server says that it knows the authority.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key}, nil
		},
	}}
	t.Cleanup(transport.CloseIdleConnections)
	out := *e
	out.http = &http.Client{Transport: transport}
	return &out
}

// TestShardOfKCP: over a shard's certificate the workspaces of kcp are served, and
// nothing else is; without it none of kcp's paths is. There, the records of an account
// run if the server names it for the workspace.
func TestShardOfKCP(t *testing.T) {
	devOnly(t, "shards have certificates, and the aggregator passes none on")
	ca := newAuthority(t, "kcp")
	kcp := apiserver.NewKCPOptions()
	kcp.ShardClientCAFile = ca.file
	const named = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
	kcp.ExecuteDIDs = []string{"w1/" + named}
	admin := connect(t, devServer(t, testdev.Options{KCP: kcp}))
	shard := ca.client(t, admin, "system:kcp:shard:root")
	const prefix = "/services/infra"
	if a := shard.do(t, "POST", prefix+"/clusters/w1"+base+"/infras", `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"},"spec":{"contracts":[{"name":"web"}]}}`); a.code != 201 {
		t.Errorf("create: %d %s", a.code, a.body)
	}
	for ws, code := range map[string]int{"w1": 201, "w2": 403} {
		a := shard.do(t, "POST", prefix+"/clusters/"+ws+base+"/atprotorepos", `{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","metadata":{"name":"theirs"},"spec":{"did":"`+named+`","pds":"`+admin.Repo.Host()+`","access":"Read","execution":"Follow"}}`)
		if text := string(a.body); a.code != code || code == 201 && !strings.Contains(text, `"executeGranted":true`) || code == 403 && !(strings.Contains(text, named) && strings.Contains(text, "--kcp-execute-dids") && strings.Contains(text, "ObserveOnly")) {
			t.Errorf("to execute in %s: %d %s", ws, a.code, text)
		}
	}
	type row struct {
		who          *env
		method, path string
		code         int
	}
	stranger := newAuthority(t, "other").client(t, admin, "system:kcp:shard:root")
	anonymous := *admin
	anonymous.http = anonymousClient(t, admin.Config)
	for _, c := range []row{
		{shard, "GET", prefix + "/clusters/w1" + base + "/infras/a", 200},
		{shard, "GET", prefix + "/clusters/w2" + base + "/infras/a", 404},
		{shard, "GET", "/clusters/w1" + base + "/infras/a", 200},
		{shard, "GET", prefix + "/clusters/%2A" + base, 200},
		{shard, "GET", prefix + "/clusters/%2A" + base + "/infras", 200},
		{shard, "GET", prefix + "/clusters/default" + base + "/infras", 403},
		{shard, "GET", prefix + "/clusters/w1/apis/apps/v1/deployments", 403},
		{shard, "GET", prefix + "/clusters/w1/metrics", 404},
		{shard, "GET", base + "/infras", 403},
		{shard, "GET", "/metrics", 403},
		{shard, "GET", "/livez", 403},
		{shard, "GET", prefix, 403},
		{stranger, "GET", prefix + "/clusters/w1" + base + "/infras", 403},
		{stranger, "GET", "/clusters/w1" + base + "/infras", 401},
		{ca.client(t, admin, "alice"), "GET", prefix + "/clusters/w1" + base + "/infras", 403},
		{ca.client(t, admin, "system:kcp:logical-cluster-admin"), "GET", base + "/infras", 403},
		{admin, "GET", prefix + "/clusters/w1" + base + "/infras", 403},
		{admin, "GET", "/clusters/w1" + base + "/infras", 403},
		{&anonymous, "GET", prefix + "/clusters/w1" + base + "/infras", 401},
	} {
		a := c.who.do(t, c.method, c.path, "")
		if a.code != c.code {
			t.Errorf("%s %s: %d %.300s", c.method, c.path, a.code, a.body)
		}
		if c.code >= 400 && a.reason(t) == "" {
			t.Errorf("%s %s: %s", c.method, c.path, a.body)
		}
	}
}
