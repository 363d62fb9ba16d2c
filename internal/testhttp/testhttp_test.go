package testhttp

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testleak"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

func TestMain(m *testing.M) { testleak.Main(m) }

// conflict is a refusal of an API server's.
const conflict = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"it has changed","reason":"Conflict","code":409}`

// serve starts a server, and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc) Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Client{HTTP: s.Client(), Server: s.URL}
}

// sent is what a server got.
type sent struct{ Method, URI, Accept, Type, More, Body string }

func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body) // what is missing shows
	_ = json.NewEncoder(w).Encode(sent{r.Method, r.RequestURI, r.Header.Get("Accept"), r.Header.Get("Content-Type"), r.Header.Get("X-More"), string(b)})
}

// A request is sent as it is written: without a default but the method and JSON for the
// body.
func TestRequest(t *testing.T) {
	c := serve(t, echo)
	verbatim, edited := c, c
	verbatim.Verbatim = true
	edited.Edit = func(r *http.Request) { r.Header.Set("Accept", "edited") }
	for name, row := range map[string]struct {
		c    Client
		r    Request
		want sent
	}{
		"a path alone":        {c, Request{Path: "/a%2Fb?c=d"}, sent{Method: "GET", URI: "/a%2Fb?c=d"}},
		"an object":           {c, Request{Method: "PUT", Path: "/a", Body: map[string]int{"b": 1}}, sent{Method: "PUT", URI: "/a", Type: JSON, Body: `{"b":1}`}},
		"a text":              {c, Request{Method: "PATCH", Path: "/a", Accept: "x/y", Kind: "a/b", Body: "c"}, sent{Method: "PATCH", URI: "/a", Accept: "x/y", Type: "a/b", Body: "c"}},
		"an empty text":       {c, Request{Path: "/a", Body: ""}, sent{Method: "GET", URI: "/a", Type: JSON}},
		"no bytes":            {c, Request{Path: "/a", Body: []byte(nil)}, sent{Method: "GET", URI: "/a"}},
		"headers":             {c, Request{Path: "/a", Header: Headers("X-More: 1: 2", "Content-Type: x"), Body: []byte("b")}, sent{Method: "GET", URI: "/a", Type: "x", More: "1: 2", Body: "b"}},
		"an empty type":       {c, Request{Path: "/a", Header: Headers("Content-Type: "), Body: "b"}, sent{Method: "GET", URI: "/a", Body: "b"}},
		"a path nobody reads": {verbatim, Request{Path: "/a/../b%2F?c=%zz"}, sent{Method: "GET", URI: "/a/../b%2F?c=%zz"}},
		"edited":              {edited, Request{Path: "/a", Accept: "x/y"}, sent{Method: "GET", URI: "/a", Accept: "edited"}},
	} {
		a, err := row.c.Do(t.Context(), row.r)
		if err != nil {
			t.Fatal(err)
		}
		if got := Decode[sent](t, a.Body); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
	if _, err := c.Do(t.Context(), Request{Path: "/a", Body: func() {}}); err == nil {
		t.Error("a body that no JSON is was sent")
	}
	if _, err := c.Do(t.Context(), Request{Path: "/%zz"}); err == nil {
		t.Error("a path that no URL has was sent")
	}
	if a, err := verbatim.Do(t.Context(), Request{Path: "/%zz"}); err != nil || a.Status != http.StatusBadRequest {
		t.Errorf("%d %v, want the server to refuse it", a.Status, err)
	}
	if a, err := Get(t.Context(), c.HTTP, c.Server+"/b"); err != nil || Decode[sent](t, a.Body).URI != "/b" {
		t.Errorf("%s %v", a.Body, err)
	}
}

// A refusal has its Status, and no other answer has one.
func TestAnswer(t *testing.T) {
	const success = `{"kind":"Status","status":"Success"}`
	for name, c := range map[string]struct {
		code   int
		body   string
		reason metav1.StatusReason
	}{
		"a refusal":        {409, conflict, metav1.StatusReasonConflict},
		"a text":           {502, "Failure", ""},
		"another's":        {404, `{"status":"Failure","reason":"NotFound"}`, ""},
		"half of one":      {409, conflict[:len(conflict)-5], ""},
		"a success":        {200, success, ""},
		"a failure in 200": {200, conflict, ""},
	} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.body)
		})
		a, err := client.Do(t.Context(), Request{})
		if err != nil || a.Status != c.code || string(a.Body) != c.body || a.Proto != "HTTP/1.1" {
			t.Errorf("%s: %+v %v", name, a, err)
		}
		if a.Fault.Reason != c.reason || (c.reason == "") != (a.Fault.Kind == "") {
			t.Errorf("%s: fault %+v", name, a.Fault)
		}
		if err := a.Want(c.code); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		body, err := GetOK(t.Context(), client.HTTP, client.Server)
		if (err != nil) != (c.code != 200) || string(body) != c.body || err != nil && !strings.Contains(err.Error(), c.body) {
			t.Errorf("%s: %s, error %v", name, body, err)
		}
	}
}

// A failure is no object, although it has its fields.
func TestUnmarshal(t *testing.T) {
	var o struct{ Status string }
	err := Unmarshal([]byte(conflict), &o)
	if !apierrors.IsConflict(err) || o.Status != "" || !strings.Contains(err.Error(), "it has changed") {
		t.Errorf("%+v, error %v", o, err)
	}
	var anything map[string]any
	if err := Unmarshal([]byte(conflict), &anything); !apierrors.IsConflict(err) {
		t.Errorf("%v, error %v", anything, err)
	}
	if s := Decode[metav1.Status](t, conflict); s.Code != 409 {
		t.Errorf("%+v", s)
	}
	for _, body := range []string{`{"status":"Failure"}`, `{"kind":"Status","status":"Success"}`} {
		if err := Unmarshal([]byte(body), &o); err != nil || o.Status == "" {
			t.Errorf("%s: %+v %v", body, o, err)
		}
	}
	if err := Unmarshal([]byte("no JSON"), &o); err == nil {
		t.Error("a text was read")
	}
	if got := Encode(t, map[string]any{"a": 1}); got != `{"a":1}` {
		t.Error(got)
	}
}

// A watch is read while it is open, packed or not, and ends when the server ends it.
func TestWatch(t *testing.T) {
	more := make(chan string)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		out, flush := io.Writer(w), func() { w.(http.Flusher).Flush() }
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close() //nolint:errcheck // it shows
			out, flush = z, func() {
				_ = z.Flush()
				w.(http.Flusher).Flush()
			}
		}
		flush()
		for line := range more {
			if line == "" {
				return
			}
			_, _ = io.WriteString(out, line+"\n")
			flush()
		}
	})
	defer close(more)
	for _, packed := range []string{"", "gzip"} {
		r := Request{Path: "/w"}
		if packed != "" {
			r.Header = Headers("Accept-Encoding: " + packed)
		}
		w := c.Watch(t, r)
		more <- `{"type":"ADDED","object":{"n":1}}`
		if e, ok := w.Next(testwait.Patience); !ok || e.Type != "ADDED" {
			t.Errorf("%+v %t", e, ok)
		}
		more <- `{"type":"BOOKMARK","object":{}}`
		more <- `{"type":"MODIFIED","object":{"n":2}}`
		got := w.Until(t, "the change", func(e Event) bool { return e.Type == "MODIFIED" })
		if o := Decode[struct{ N int }](t, got.Object); o.N != 2 {
			t.Errorf("object %s", got.Object)
		}
		more <- ""
		if e, ok := w.Next(testwait.Patience); ok || w.Err() != nil || len(w.Seen()) != 3 {
			t.Errorf("%+v %t, ended by %v after %q", e, ok, w.Err(), w.Seen())
		}
	}
	whole := make(chan []Event)
	go func() { whole <- c.WatchAll(t, Request{Path: "/w"}) }()
	more <- `{"type":"ADDED","object":{}}`
	more <- ""
	if got := <-whole; len(got) != 1 {
		t.Errorf("%v", got)
	}
	// What nobody takes doesn't keep a watch, nor the test, from ending.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := &Watch{events: make(chan Event)}
	full.read(ctx, &http.Response{Body: io.NopCloser(strings.NewReader(`{"type":"ADDED","object":{}}`))})
	if full.Err() == nil {
		t.Error("the event was taken")
	}
	broken := &Watch{events: make(chan Event)}
	broken.read(t.Context(), &http.Response{Body: io.NopCloser(strings.NewReader("no event"))})
	if err := broken.Err(); err == nil || !strings.Contains(err.Error(), "no event") {
		t.Errorf("ended by %v", err)
	}
}
