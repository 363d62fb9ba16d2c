package devpds

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) {
	if runCrashChild() {
		return
	}
	slog.SetLogLoggerLevel(slog.LevelWarn) // indigo's verifier tells much
	// A dependency (go-log) starts it when it is imported, and it never ends.
	testleak.Main(m, goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"))
}

const collection = "computer.socialweb.infra"

// caller sends raw XRPC requests, over HTTP or to a handler.
type caller struct {
	t     testing.TB
	h     http.Handler // nil: over HTTP
	base  string
	token string
	admin string // administrator's password
	did   string
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   object // nil unless it is JSON
}

func (a answer) text(key string) string {
	s, _ := a.body[key].(string)
	return s
}

// do sends one request.
func (c *caller) do(method, nsid string, query url.Values, body any) answer {
	c.t.Helper()
	var in []byte
	switch b := body.(type) {
	case nil:
	case string:
		in = []byte(b)
	default:
		var err error
		if in, err = json.Marshal(b); err != nil {
			c.t.Fatal(err)
		}
	}
	target := c.base + "/xrpc/" + nsid
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var reader io.Reader = http.NoBody
	if body != nil {
		reader = bytes.NewReader(in)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, target, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.admin != "":
		req.SetBasicAuth("admin", c.admin)
	case c.token != "":
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	var out answer
	if c.h != nil {
		req.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, req)
		out = answer{status: w.Code, header: w.Header(), raw: w.Body.Bytes()}
	} else {
		resp, err := testClient.Do(req)
		if err != nil {
			c.t.Fatalf("%s %s: %v", method, nsid, err)
		}
		defer func() { _ = resp.Body.Close() }()
		out = answer{status: resp.StatusCode, header: resp.Header}
		if out.raw, err = io.ReadAll(resp.Body); err != nil {
			c.t.Fatalf("%s %s: %v", method, nsid, err)
		}
	}
	_ = json.Unmarshal(out.raw, &out.body) // a CAR, or nothing
	return out
}

// testClient keeps no connection alive, so that nothing leaks.
var testClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (c *caller) get(nsid string, query ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, nsid, pairs(query), nil)
}

func (c *caller) post(nsid string, body any) answer {
	c.t.Helper()
	return c.do(http.MethodPost, nsid, nil, body)
}

func pairs(list []string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(list); i += 2 {
		q.Add(list[i], list[i+1])
	}
	return q
}

// put writes a record; more are further fields.
func (c *caller) put(rkey string, rec any, more ...any) answer {
	c.t.Helper()
	body := object{"repo": c.did, "collection": collection, "rkey": rkey, "record": rec}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return c.post("com.atproto.repo.putRecord", body)
}

func (c *caller) remove(rkey string, more ...any) answer {
	c.t.Helper()
	body := object{"repo": c.did, "collection": collection, "rkey": rkey}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return c.post("com.atproto.repo.deleteRecord", body)
}

func (c *caller) read(rkey string) answer {
	c.t.Helper()
	return c.get("com.atproto.repo.getRecord", "repo", c.did, "collection", collection, "rkey", rkey)
}

// login opens a session for an account.
func (c *caller) login(a Account) *caller {
	c.t.Helper()
	r := c.post("com.atproto.server.createSession", object{"identifier": a.DID, "password": a.Password})
	if r.status != http.StatusOK {
		c.t.Fatalf("createSession: %d %s", r.status, r.text("error"))
	}
	next := *c
	next.token, next.did = r.text("accessJwt"), a.DID
	return &next
}

// open starts a server that ends with the test.
func open(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// memory starts a server in memory, without a listener unless c has one, and a
// session of its first account.
func memory(t testing.TB, c Config) (*Server, *caller) {
	t.Helper()
	c.Memory = true
	if c.ListenAddr == "" {
		c.ListenAddr, c.PublicURL = "-", "http://pds.test"
	}
	s := open(t, c)
	return s, (&caller{t: t, h: s.Handler(), base: s.URL()}).login(s.Accounts()[0])
}

// want fails unless the answer is as it should be.
func (a answer) want(t testing.TB, status int, name string) answer {
	t.Helper()
	if a.status != status || a.text("error") != name {
		t.Fatalf("answer %d %s, want %d %q", a.status, a.raw, status, name)
	}
	return a
}
