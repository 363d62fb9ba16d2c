package api

import (
	"context"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

const (
	groupPath = "/apis/socialweb.computer/v1alpha1"
	infras    = groupPath + "/infras"
)

// request is a plain HTTP request to the API server. Unlike the client of
// client-go it is never repeated.
type request struct {
	method string // "": GET
	path   string
	accept string // "": application/json
	kind   string // content type; "": application/json
	body   any    // a string is sent as it is, anything else as JSON
	header http.Header
}

// answer is what came back. err is the transport's.
type answer struct {
	status  int
	header  http.Header
	body    string
	failure metav1.Status // where it is one
	err     error
}

func (s *server) do(t testing.TB, r request) answer {
	t.Helper()
	return s.doCtx(t.Context(), r)
}

func (s *server) doCtx(ctx context.Context, r request) answer {
	a, err := s.sender().Do(ctx, r.plain())
	return answer{a.Status, a.Header, string(a.Body), a.Fault, err}
}

// open returns the response with its body unread.
func (s *server) open(ctx context.Context, r request) (*http.Response, error) {
	return s.sender().Open(ctx, r.plain())
}

func (s *server) sender() testhttp.Client {
	return testhttp.Client{HTTP: s.http, Server: s.config.Host}
}

func (r request) plain() testhttp.Request {
	accept := r.accept
	if accept == "" {
		accept = testhttp.JSON
	}
	return testhttp.Request{Method: r.method, Path: r.path, Accept: accept, Kind: r.kind, Body: r.body, Header: r.header}
}

const (
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// must is do for requests that have to succeed.
func (s *server) must(t testing.TB, r request) answer {
	t.Helper()
	a := s.do(t, r)
	if a.err != nil || a.status >= 300 {
		t.Fatalf("%s %s: %d %s %v", r.method, r.path, a.status, a.body, a.err)
	}
	return a
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
