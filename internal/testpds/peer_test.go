package testpds

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const infraCollection = "computer.socialweb.infra"

// object is a JSON object.
type object = map[string]any

// peer is one PDS under comparison, and what the requests before left to use.
type peer struct {
	t      *testing.T
	server *Server
	// auth is the Authorization header of the next requests.
	auth string
	// vars remembers values by name; newPeer sets "alice" and "bob" to their DIDs.
	vars map[string]string
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   object // nil unless it is a JSON object
}

func (a answer) text(path ...string) string {
	var v any = a.body
	for _, key := range path {
		m, _ := v.(object)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

func newPeer(t *testing.T, s *Server) *peer {
	p := &peer{t: t, server: s, vars: map[string]string{}}
	for _, a := range s.Accounts {
		name := strings.TrimSuffix(a.Handle, ".test")
		p.vars[name], p.vars[name+".password"] = a.DID, a.Password
	}
	return p
}

// expand replaces {name} by the value of that name.
func (p *peer) expand(s string) string {
	for name, value := range p.vars {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

// fetch sends one request to a URL.
func (p *peer) fetch(method, target, contentType, body string) answer {
	p.t.Helper()
	var in io.Reader = http.NoBody
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, target, in)
	if err != nil {
		p.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if p.auth != "" {
		req.Header.Set("Authorization", p.auth)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := answer{status: resp.StatusCode, header: resp.Header}
	if out.raw, err = io.ReadAll(resp.Body); err != nil {
		p.t.Fatalf("%s %s: %v", method, target, err)
	}
	_ = json.Unmarshal(out.raw, &out.body) // a CAR, or nothing
	return out
}

// get calls a query: "nsid?a=b&c=d", values not yet escaped.
func (p *peer) get(call string) answer {
	p.t.Helper()
	nsid, query, _ := strings.Cut(call, "?")
	q := url.Values{}
	for _, pair := range strings.Split(query, "&") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			q.Add(k, p.expand(v))
		}
	}
	return p.fetch(http.MethodGet, p.server.URL+"/xrpc/"+nsid+"?"+q.Encode(), "", "")
}

// post calls a procedure with a JSON body; "" is none.
func (p *peer) post(nsid, body string) answer {
	p.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	return p.fetch(http.MethodPost, p.server.URL+"/xrpc/"+nsid, contentType, p.expand(body))
}

// put writes a record of alice; more is the rest of the body, ",…".
func (p *peer) put(rkey, record, more string) answer {
	p.t.Helper()
	return p.post("com.atproto.repo.putRecord",
		`{"repo":"{alice}","collection":"`+infraCollection+`","rkey":"`+rkey+`","record":`+record+more+`}`)
}

// remove deletes a record of alice.
func (p *peer) remove(rkey, more string) answer {
	p.t.Helper()
	return p.post("com.atproto.repo.deleteRecord",
		`{"repo":"{alice}","collection":"`+infraCollection+`","rkey":"`+rkey+`"`+more+`}`)
}

// apply is applyWrites on alice's repository.
func (p *peer) apply(writes, more string) answer {
	p.t.Helper()
	return p.post("com.atproto.repo.applyWrites", `{"repo":"{alice}","writes":[`+writes+`]`+more+`}`)
}

// read gets a record of alice.
func (p *peer) read(rkey string) answer {
	p.t.Helper()
	return p.get("com.atproto.repo.getRecord?repo={alice}&collection=" + infraCollection + "&rkey=" + rkey)
}

// login opens a session and uses it from now on. The tokens are remembered as
// NAME.access and NAME.refresh.
func (p *peer) login(name string) answer {
	p.t.Helper()
	p.auth = ""
	r := p.post("com.atproto.server.createSession", `{"identifier":"{`+name+`}","password":"{`+name+`.password}"}`)
	p.keep(name, r)
	return r
}

// keep remembers a session's tokens, and uses them.
func (p *peer) keep(name string, r answer) {
	p.vars[name+".access"], p.vars[name+".refresh"] = r.text("accessJwt"), r.text("refreshJwt")
	p.as(name)
}

// as uses a session that was opened before; "" is nobody.
func (p *peer) as(name string) {
	if p.auth = ""; name != "" {
		p.auth = "Bearer " + p.vars[name+".access"]
	}
}
