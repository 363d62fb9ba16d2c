package kcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// hanging is a PDS that takes every login and doesn't answer until the test ends.
type hanging struct {
	*httptest.Server
	end chan struct{}

	mu     sync.Mutex // guards logins
	logins map[string]bool
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{end: make(chan struct{}), logins: map[string]bool{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var login struct{ Identifier string }
		if json.NewDecoder(r.Body).Decode(&login) == nil {
			h.mu.Lock()
			h.logins[login.Identifier] = true
			h.mu.Unlock()
		}
		<-h.end
	}))
	t.Cleanup(func() {
		close(h.end)
		h.Close()
	})
	return h
}

// tried is how many accounts have tried to log in.
func (h *hanging) tried() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.logins)
}

// TestAccountsThatHang: a workspace with many accounts on a PDS that never answers
// doesn't keep the account of another from being ready, although there are more of them
// than are looked at at once.
func TestAccountsThatHang(t *testing.T) {
	beside(t)
	e := start(t)
	const many = 64
	pds := newHanging(t)
	w := e.workspace(t, "hanging")
	for i := range many {
		name, did := fmt.Sprintf("a%02d", i), fmt.Sprintf("did:plc:aaaaaaaaaaaaaaaaaaaaaa%c%c", 'a'+i/8, 'a'+i%8)
		dir := filepath.Join(e.data, "credentials", w.name, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"identifier": did, "password": "none", "pds": pds.URL} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.AtprotoRepoSpec{DID: did, PDS: pds.URL, CredentialsRef: &v1alpha1.CredentialsReference{Name: name}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "a login", func() error {
		if pds.tried() == 0 {
			return errors.New("nobody has tried")
		}
		return nil
	})
	e.tenant(t, "beside-hanging")
	if n := pds.tried(); n >= many {
		t.Errorf("all %d accounts that hang were tried before that of another workspace was ready", n)
	}
	if err := w.client.AtprotoRepos().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
