package testpds

import (
	"net/http"
	"strings"
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
	p := newPeer(t, first)
	p.login("alice")
	if r := p.put("a", `{"description":"kept"}`, ""); r.status != http.StatusOK {
		t.Fatalf("put: %d %s", r.status, r.raw)
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
	q := newPeer(t, second)
	q.login("alice")
	if r := q.read("a"); r.status != http.StatusOK || !strings.Contains(string(r.raw), "kept") {
		t.Errorf("get after restart: %d %s", r.status, r.raw)
	}
	if r := q.fetch(http.MethodGet, second.PLCURL+"/"+alice.DID, "", ""); r.status != http.StatusOK || !strings.Contains(string(r.raw), second.URL) {
		t.Errorf("DID document after restart: %d %s", r.status, r.raw)
	}
}
