package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/internal/testhttp"
)

// site is a server with the filters of the real one that matter at its doors. It
// answers with the user, the group masters among them, and the workspace.
type site struct {
	*httptest.Server
	ca  *dynamiccertificates.DynamicFileCAContent
	log testbinary.Buffer
}

// newSite has the authorities of shards in a file, which are those of all clients too.
// Admins and masters may do everything.
func newSite(t *testing.T, ca *certpair.Pair) *site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	writeAuthorities(t, file, ca)
	o := NewKCPOptions()
	o.ShardClientCAFile = file
	c := genericapiserver.NewRecommendedConfig(Codecs)
	c.SecureServing = &genericapiserver.SecureServingInfo{}
	content, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
	if err != nil {
		t.Fatal(err)
	}
	c.Authentication.Authenticator = x509request.NewDynamic(content.VerifyOptions, x509request.CommonNameUserConversion)
	door, err := o.door(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{ca: c.SecureServing.ClientCA.(*dynamiccertificates.DynamicFileCAContent)}
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, _ := request.UserFrom(r.Context())
		ws := ""
		if e := entryFrom(r.Context()); e != nil {
			ws = e.workspace
		}
		_, _ = io.WriteString(w, strings.Join(append([]string{u.GetName(), ws}, u.GetGroups()...), " "))
	})
	authz := doorAuthorizer{authorizerfactory.NewPrivilegedGroups("admins", "system:masters"), true}
	h = filters.WithAuthorization(h, authz, Codecs)
	h = impersonation.WithImpersonation(h, authz, Codecs)
	h = filters.WithAuthentication(h, doorAuthenticator{c.Authentication.Authenticator}, filters.Unauthorized(Codecs), nil, nil)
	h = filters.WithRequestInfo(h, &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")})
	d := doors{h, Codecs, door}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&s.log)))
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.ServeHTTP(w, r.WithContext(klog.NewContext(r.Context(), logger)))
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func writeAuthorities(t *testing.T, file string, cas ...*certpair.Pair) {
	t.Helper()
	var all []byte
	for _, ca := range cas {
		pem, _, err := ca.Encode()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pem...)
	}
	if err := os.WriteFile(file, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// as is a client with a certificate; nil: without.
func (s *site) as(t *testing.T, p *certpair.Pair) *http.Client {
	t.Helper()
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if p == nil {
			return &tls.Certificate{}, nil
		}
		return &tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key}, nil
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// got is an answer.
type got struct {
	code   int
	body   string
	reused bool
	log    string
}

func (s *site) get(t *testing.T, c *http.Client, path string, headers ...string) got {
	t.Helper()
	var g got
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { g.reused = i.Reused }})
	a, err := testhttp.Client{HTTP: c, Server: s.URL, Edit: func(r *http.Request) { r.Host = "kcp.example.com" }}.
		Do(ctx, testhttp.Request{Path: path, Header: testhttp.Headers(headers...)})
	if err != nil {
		t.Fatal(err)
	}
	if a.Proto != "HTTP/2.0" {
		t.Errorf("%s: %s", path, a.Proto)
	}
	g.code, g.body, g.log = a.Status, string(a.Body), s.log.Take()
	if g.code >= 400 {
		if int(a.Fault.Code) != g.code || strings.Count(g.log, "Refused at a door") != 1 {
			t.Errorf("%s: %d %s, logged %s", path, g.code, g.body, g.log)
		}
	} else if g.log != "" {
		t.Errorf("%s: logged %s", path, g.log)
	}
	return g
}

// A shard is never a user, and its masters are nobody's, where the authority is that of
// all clients too; other clients of it are what they always are.
func TestOneAuthorityForAll(t *testing.T) {
	ca := newAuthority(t, "everybody's")
	s := newSite(t, ca)
	shard, front := s.as(t, certificate(t, ca, shardName, nil)), s.as(t, certificate(t, ca, "system:kcp:front-proxy", nil))
	admin := s.as(t, certificate(t, ca, "admin", func(c *x509.Certificate) { c.Subject.Organization = []string{"admins"} }))
	master, unnamed := s.as(t, certificate(t, ca, "kcp-admin", nil)), s.as(t, certificate(t, ca, "shard-a", nil))
	user := s.as(t, certificate(t, ca, "alice", func(c *x509.Certificate) { c.Subject.Organization = nil }))
	const own = kcpPrefix + "/clusters/w1" + infras
	for _, c := range []struct {
		who     *http.Client
		path    string
		headers []string
		code    int
		want    string
	}{
		{shard, own, nil, 200, "system:kcp:workspace:w1 w1 system:authenticated"},
		{shard, "/clusters/w1" + infras, nil, 200, "system:kcp:workspace:w1 w1 system:authenticated"},
		{shard, own, []string{"x-remote-user: bob", "x-remote-group: system:masters", "X-REMOTE-GROUP: ops"}, 200, "bob w1 ops system:authenticated"},
		{shard, own, []string{"X-Remote-User: bob", "X-Remote-User: eve"}, 400, ""},
		{shard, own, []string{"Impersonate-User: admin"}, 403, ""},
		{shard, own, []string{"X-Remote-User: bob", "Impersonate-User: system:apiserver", "Impersonate-Group: system:masters"}, 403, ""},
		{shard, infras, nil, 403, ""},
		{shard, kcpPrefix + "/clusters/w1/apis/apps/v1/deployments", nil, 403, ""},
		{front, infras, nil, 403, ""},
		{front, own, nil, 403, ""},
		{admin, infras, nil, 200, "admin  admins"},
		{admin, "/clusters/w1" + infras, nil, 200, "admin w1 admins"},
		{master, infras, nil, 401, ""},
		{master, "/clusters/w1" + infras, nil, 401, ""},
		{master, own, nil, 403, ""},
		{unnamed, infras, nil, 401, ""},
		{unnamed, own, nil, 403, ""},
		{admin, own, []string{"X-Remote-User: bob"}, 403, ""},
		{user, "/clusters/w1" + infras, nil, 403, ""},
		{user, own, []string{"Authorization: Bearer x"}, 403, ""},
		{s.as(t, nil), own, []string{"Authorization: Bearer x", "X-Remote-User: bob"}, 401, ""},
		{s.as(t, nil), "/clusters/w1" + infras, []string{"X-Remote-User: admin", "X-Remote-Group: system:masters"}, 401, ""},
		{s.as(t, certificate(t, newAuthority(t, "other"), shardName, nil)), "/clusters/w1" + infras, nil, 401, ""},
	} {
		if g := s.get(t, c.who, c.path, c.headers...); g.code != c.code || c.want != "" && g.body != c.want {
			t.Errorf("%s %v: %d %s, want %d %s", c.path, c.headers, g.code, g.body, c.code, c.want)
		}
	}
}

// The authorities of the moment count, for each request of a connection that lasts.
func TestAuthoritiesChange(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	s := newSite(t, old)
	before, after := s.as(t, certificate(t, old, shardName, nil)), s.as(t, certificate(t, next, shardName, nil))
	file := strings.TrimPrefix(s.ca.Name(), "kcp-shard-client-ca::")
	const path = kcpPrefix + "/clusters/w1" + infras
	for _, step := range []struct {
		authorities   []*certpair.Pair
		before, after int
	}{
		{[]*certpair.Pair{old}, 200, 403},
		{[]*certpair.Pair{old, next}, 200, 200},
		{[]*certpair.Pair{next}, 403, 200},
	} {
		writeAuthorities(t, file, step.authorities...)
		if err := s.ca.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if g := s.get(t, before, path); g.code != step.before || g.reused != (len(step.authorities) > 1 || step.before == 403) {
			t.Errorf("%d authorities, the old shard: %+v", len(step.authorities), g)
		}
		if g := s.get(t, after, path); g.code != step.after {
			t.Errorf("%d authorities, the new shard: %+v", len(step.authorities), g)
		}
	}
	// A file without any leaves those that were read last.
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ca.RunOnce(t.Context()); err == nil {
		t.Error("a file without authorities was read")
	}
	if g := s.get(t, after, path); g.code != 200 {
		t.Errorf("%+v", g)
	}
}
