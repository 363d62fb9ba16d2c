package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	return s.doCtx(t.Context(), t, r)
}

func (s *server) doCtx(ctx context.Context, t testing.TB, r request) answer {
	t.Helper()
	resp, err := s.open(ctx, t, r)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	out := answer{status: resp.StatusCode, header: resp.Header, body: string(b), err: err}
	if out.status >= 400 {
		_ = json.Unmarshal(b, &out.failure) // a plain text has no reason
	}
	return out
}

// open returns the response with its body unread.
func (s *server) open(ctx context.Context, t testing.TB, r request) (*http.Response, error) {
	t.Helper()
	var body io.Reader = http.NoBody
	switch b := r.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(j)
	}
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, s.config.Host+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	accept, kind := r.accept, r.kind
	if accept == "" {
		accept = "application/json"
	}
	if kind == "" {
		kind = "application/json"
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept", accept)
	if r.body != nil {
		req.Header.Set("Content-Type", kind)
	}
	return s.http.Do(req)
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

// decode reads a JSON body.
func decode[T any](t testing.TB, body string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return out
}

// encode writes a JSON body.
func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
