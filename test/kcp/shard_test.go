package kcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

const (
	// kcpHost is where kcp's consumers reach it: what they ask for is proxied with
	// this Host header.
	kcpHost = "kcp.example.org:6443"
	// groupPath and infras are paths below a workspace's.
	groupPath = "/apis/socialweb.computer/v1alpha1"
	infras    = groupPath + "/infras"

	mergePatch = "application/merge-patch+json"
	jsonPatch  = "application/json-patch+json"
	applyPatch = "application/apply-patch+yaml"
	asTable    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

// shard is a shard of kcp: a connection with a client certificate, by which the
// requests of all users of all its workspaces come. Whoever asked, kcp has taken
// Authorization, Impersonate-* and X-Remote-* away.
type shard struct {
	server string // https://HOST:PORT
	host   string // the Host header; "": the server's own
	http   *http.Client
}

// connect is a shard with a certificate; nil: a client without one. Unlike other
// clients it also shows a certificate of an authority that the server doesn't name.
func (e *env) connect(t testing.TB, c *tls.Certificate) *shard {
	t.Helper()
	serving, err := os.ReadFile(filepath.Join(e.data, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(serving)
	if c == nil {
		c = &tls.Certificate{}
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs: roots, MinVersion: tls.VersionTLS13,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil },
		},
		ForceAttemptHTTP2: true, DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &shard{server: e.dev.Server, host: kcpHost, http: &http.Client{Transport: transport}}
}

// request is what a consumer asks for in a workspace, or anything else that a client
// sends: then path is a whole one.
type request struct {
	method string // "": GET
	path   string // escaped, with its query
	accept string // "": application/json
	kind   string // content type; "": application/json
	body   any    // a string is sent as it is, anything else as JSON
	header http.Header
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	proto  string
	body   string
	fault  metav1.Status // where it is one
	// resent: the request was sent again, as the server had asked for, and what it was to do
	// may have been done by the first.
	resent bool
}

// sender of its requests. A path goes out as it is written.
func (s *shard) sender() testhttp.Client {
	return testhttp.Client{HTTP: s.http, Server: s.server, Verbatim: true, Edit: func(r *http.Request) {
		if s.host != "" {
			r.Host = s.host
		}
		r.Header.Set("User-Agent", "kubectl/v1.37.2 (linux/amd64) kubernetes/abcdef0")
		if r.Header.Get("Accept-Encoding") == "" {
			r.Header.Set("Accept-Encoding", "gzip")
		}
	}}
}

func (r request) plain() testhttp.Request {
	return testhttp.Request{Method: r.method, Path: r.path, Accept: or(r.accept, testhttp.JSON), Kind: r.kind, Body: r.body, Header: r.header}
}

// do sends a request whose path is a whole one.
func (s *shard) do(t testing.TB, r request) answer {
	t.Helper()
	return s.doCtx(t.Context(), t, r)
}

func (s *shard) doCtx(ctx context.Context, t testing.TB, r request) answer {
	t.Helper()
	a, err := s.sender().Do(ctx, r.plain())
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return answer{status: a.Status, header: a.Header, proto: a.Proto, body: string(a.Body), fault: a.Fault}
}

// open returns the answer with its body unread.
func (s *shard) open(ctx context.Context, r request) (*http.Response, error) {
	return s.sender().Open(ctx, r.plain())
}

// or is the first of the two that isn't empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// proxy is the shard's reverse proxy for one workspace: typed clients send by it what
// a consumer sends to kcp.
type proxy struct {
	*shard
	workspace string
}

// RoundTrip implements http.RoundTripper.
func (p proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	server, err := url.Parse(p.server)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Host = p.host
	out.URL.Scheme, out.URL.Host = server.Scheme, server.Host
	out.URL.Path = prefix + "/clusters/" + p.workspace + r.URL.Path
	out.URL.RawPath = ""
	out.Header.Del("Authorization")
	return p.http.Transport.RoundTrip(out)
}

// decode reads a JSON body that is no refusal.
func decode[T any](t testing.TB, body string) T {
	t.Helper()
	return testhttp.Decode[T](t, body)
}

// encode writes a JSON body.
func encode(t testing.TB, v any) string {
	t.Helper()
	return testhttp.Encode(t, v)
}

// later tells whether the answer says that the request may succeed later.
func (a answer) later() bool { return a.fault.Details != nil && a.fault.Details.RetryAfterSeconds > 0 }

// err is nil where the answer is a success.
func (a answer) err() error {
	if a.status < http.StatusMultipleChoices {
		return nil
	}
	return fmt.Errorf("%d %s", a.status, a.body)
}
