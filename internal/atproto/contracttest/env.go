package contracttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// The accounts of the suite.
const (
	alice = "alice" // written to by most cases
	bob   = "bob"   // the other account
	dora  = "dora"  // gets deactivated
	tom   = "tom"   // gets taken down
	mary  = "mary"  // has many records
	fay   = "fay"   // gets deactivated while somebody listens
)

// collection of the records that the cases write.
const collection = "computer.socialweb.infra"

// env is a running PDS.
type env struct {
	*testpds.Server
	accounts map[string]testpds.Account
	http     *http.Client
	clients  map[string]*atproto.Client
}

func newEnv(t *testing.T, s *testpds.Server, names []string) *env {
	t.Helper()
	if len(names) == 0 {
		names = []string{alice}
	}
	e := &env{Server: s, accounts: map[string]testpds.Account{}, http: atproto.NewHTTPClient(true), clients: map[string]*atproto.Client{}}
	t.Cleanup(e.http.CloseIdleConnections)
	if len(s.Accounts) != len(names) {
		t.Fatalf("the PDS has %d accounts, want %d", len(s.Accounts), len(names))
	}
	for i, n := range names {
		e.accounts[n] = s.Accounts[i]
	}
	return e
}

// login is the client of the account; its session lasts for the suite.
func (e *env) login(t *testing.T, name string) *atproto.Client {
	t.Helper()
	if c := e.clients[name]; c != nil {
		return c
	}
	a := e.accounts[name]
	c, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: a.DID, Password: a.Password}, e.loginOptions())
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	e.clients[name] = c
	return c
}

func (e *env) loginOptions() atproto.LoginOptions {
	return atproto.LoginOptions{HTTP: e.http, PLCURL: e.PLCURL, TrustPDS: e.PLCURL == "", Timeout: patience}
}

// config of a client without credentials.
func (e *env) config(did string) atproto.Config {
	return atproto.Config{PDS: e.URL, DID: did, HTTP: e.http, PLCURL: e.PLCURL, Timeout: patience}
}

// session opens a session by hand and gives its access token.
func (e *env) session(t *testing.T, name string) string {
	t.Helper()
	a := e.accounts[name]
	var out struct{ AccessJwt string }
	status := e.post(t, "com.atproto.server.createSession", "", map[string]any{"identifier": a.DID, "password": a.Password}, &out)
	if status != http.StatusOK {
		t.Fatalf("createSession: HTTP %d", status)
	}
	return out.AccessJwt
}

// post calls a procedure as it stands, past the client, and gives the status.
func (e *env) post(t *testing.T, method, bearer string, body, out any) int {
	t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/xrpc/"+method, r)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case bearer == adminAuth:
		req.SetBasicAuth("admin", e.AdminPassword)
	case bearer != "":
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return e.do(t, req, out)
}

// adminAuth asks post for the admin's credentials.
const adminAuth = "admin"

func (e *env) do(t *testing.T, req *http.Request, out any) int {
	t.Helper()
	resp, err := e.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatalf("HTTP %d: %v: %s", resp.StatusCode, err, b)
		}
	}
	return resp.StatusCode
}

// key is a record of this case alone.
func key(t *testing.T, suffix ...string) atproto.Key {
	name := strings.ToLower(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
	return atproto.Key{Collection: collection, RKey: strings.Join(append([]string{name}, suffix...), "-")}
}

// value is a record with this description.
func value(description string) map[string]any {
	return map[string]any{"$type": collection, "description": description, "createdAt": "2026-01-02T03:04:05.000Z"}
}
