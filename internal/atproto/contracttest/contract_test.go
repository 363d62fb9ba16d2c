package contracttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/devpds"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// TestReferencePDS: the PDS that defines the behaviour.
func TestReferencePDS(t *testing.T) { Run(t, testpds.StartReference) }

// TestEmbeddedPDS: the one that ships with us.
func TestEmbeddedPDS(t *testing.T) { Run(t, testpds.StartDev) }

// The reference PDS can't be told another time, but its secret is in its data:
// the token is signed anew with a time that has passed.
func TestReferencePDSExpiredToken(t *testing.T) {
	dir := t.TempDir()
	s := testpds.StartReference(t, testpds.Options{DataDir: dir})
	b, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ JWTSecret string }
	if err := json.Unmarshal(b, &state); err != nil {
		t.Fatal(err)
	}
	ExpiredToken(t, s, func(token string) string {
		parsed, parts, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
		if err != nil || len(parts) != 3 {
			t.Fatal(err)
		}
		claims := parsed.Claims.(jwt.MapClaims)
		claims["iat"], claims["exp"] = time.Now().Add(-3*time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
		signed, err := parsed.SignedString([]byte(state.JWTSecret))
		if err != nil {
			t.Fatal(err)
		}
		return signed
	})
}

// The embedded PDS has a clock.
func TestEmbeddedPDSExpiredToken(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	p, err := devpds.Open(devpds.Config{Memory: true, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &testpds.Server{URL: p.URL(), PLCURL: p.URL()}
	for _, a := range p.Accounts() {
		s.Accounts = append(s.Accounts, testpds.Account{Handle: a.Handle, DID: a.DID, Password: a.Password})
	}
	var stepped sync.Map // once for each token: a later one is still good then
	ExpiredToken(t, s, func(token string) string {
		if _, done := stepped.LoadOrStore(token, true); !done {
			clk.Step(3 * time.Hour)
		}
		return token
	})
}
