package testpds

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// TestReferenceSurvivesKill shows that accounts, records and DID documents are
// there again after SIGKILL and a start with the same data.
func TestReferenceSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	first := StartReference(t, Options{DataDir: dir, Accounts: []string{"alice", "bob"}})
	if len(first.Accounts) != 2 || first.Accounts[1].Handle != "bob.test" {
		t.Fatalf("accounts: %+v", first.Accounts)
	}
	alice := first.Accounts[0]
	token := login(t, first, alice)
	put := map[string]any{
		"repo": alice.DID, "collection": "computer.socialweb.infra", "rkey": "a",
		"record": map[string]any{"$type": "computer.socialweb.infra", "description": "kept"},
	}
	if status, body := call(t, http.MethodPost, first.URL+"/xrpc/com.atproto.repo.putRecord", token, put); status != http.StatusOK {
		t.Fatalf("put: %d %s", status, body)
	}
	first.Kill()
	first.Stop()

	second := StartReference(t, Options{DataDir: dir, Accounts: []string{"bob", "alice"}})
	if second.URL != first.URL {
		t.Errorf("URL %s after %s: the DID documents name the first", second.URL, first.URL)
	}
	if second.Accounts[1] != alice {
		t.Errorf("account %+v, before %+v", second.Accounts[1], alice)
	}
	login(t, second, alice)
	get := second.URL + "/xrpc/com.atproto.repo.getRecord?collection=computer.socialweb.infra&rkey=a&repo=" + alice.DID
	if status, body := call(t, http.MethodGet, get, "", nil); status != http.StatusOK || !bytes.Contains(body, []byte("kept")) {
		t.Errorf("get after restart: %d %s", status, body)
	}
	if status, body := call(t, http.MethodGet, second.PLCURL+"/"+alice.DID, "", nil); status != http.StatusOK || !bytes.Contains(body, []byte(second.URL)) {
		t.Errorf("DID document after restart: %d %s", status, body)
	}
}

// login opens a session and returns its access token.
func login(t *testing.T, s *Server, a Account) string {
	t.Helper()
	status, body := call(t, http.MethodPost, s.URL+"/xrpc/com.atproto.server.createSession", "", map[string]any{
		"identifier": a.DID, "password": a.Password,
	})
	var out struct{ AccessJwt string }
	if err := json.Unmarshal(body, &out); err != nil || status != http.StatusOK || out.AccessJwt == "" {
		t.Fatalf("createSession: %d %v", status, err)
	}
	return out.AccessJwt
}

// call sends one request and returns status and body.
func call(t *testing.T, method, url, token string, in any) (int, []byte) {
	t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, out
}
