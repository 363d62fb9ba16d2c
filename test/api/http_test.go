package api

import (
	"context"
	"fmt"
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

// send is do, again where the server asks for that, as client-go does: the PDS was too
// slow. resent: what was asked for may have been done by a request before.
func (s *server) send(t testing.TB, r request) (a answer, resent bool) {
	t.Helper()
	tries := 0
	waitFor(t, "an answer", func() error {
		tries++
		if a = s.do(t, r); a.failure.Details != nil && a.failure.Details.RetryAfterSeconds > 0 {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
	return a, tries > 1
}

// must is send for requests that have to succeed. Of a deletion that was done before, the
// answer is that there is nothing.
func (s *server) must(t testing.TB, r request) answer {
	t.Helper()
	a, resent := s.send(t, r)
	done := resent && r.method == http.MethodDelete && a.status == http.StatusNotFound
	if a.err != nil || a.status >= 300 && !done {
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
