package atproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// sessionPDS is a fake PDS with sessions: it knows which tokens are good.
type sessionPDS struct {
	*fakePDS
	did string

	mu              sync.Mutex
	n               int
	access, refresh string
	// passwordWrong and refreshWrong refuse logins and refreshes.
	passwordWrong, refreshWrong bool
}

func newSessionPDS(t *testing.T) *sessionPDS {
	s := &sessionPDS{fakePDS: newFakePDS(t), did: testDID}
	s.on("com.atproto.server.createSession", func(w http.ResponseWriter, r *http.Request) {
		var in createSessionInput
		_ = json.NewDecoder(r.Body).Decode(&in)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.passwordWrong || in.Password != "pw" {
			reply(w, 401, xrpcError("AuthenticationRequired", "Invalid identifier or password"))
			return
		}
		s.issue(w)
	})
	s.on("com.atproto.server.refreshSession", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refreshWrong || r.Header.Get("Authorization") != "Bearer "+s.refresh {
			reply(w, 400, xrpcError("ExpiredToken", "Token has been revoked"))
			return
		}
		s.issue(w)
	})
	s.on(putMethod, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+s.access {
			reply(w, 400, xrpcError("ExpiredToken", "Token has expired"))
			return
		}
		reply(w, 200, map[string]any{"uri": "at://x", "cid": someCID})
	})
	return s
}

// issue gives out new tokens; the caller holds mu.
func (s *sessionPDS) issue(w http.ResponseWriter) {
	s.n++
	s.access, s.refresh = fmt.Sprintf("access-%d", s.n), fmt.Sprintf("refresh-%d", s.n)
	reply(w, 200, map[string]any{"did": s.did, "accessJwt": s.access, "refreshJwt": s.refresh})
}

func (s *sessionPDS) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *sessionPDS) logins() int    { return s.count("com.atproto.server.createSession") }
func (s *sessionPDS) refreshes() int { return s.count("com.atproto.server.refreshSession") }

func (s *sessionPDS) client(t *testing.T, clk *testclock.FakeClock) *Client {
	t.Helper()
	cfg := s.config(t)
	if clk != nil {
		cfg.Clock = clk
	}
	auth, err := NewPasswordAuth(cfg, Credentials{Identifier: "alice.test", Password: "pw"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Auth = auth
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Many callers whose token expired cause one refresh, and all of them succeed.
func TestRefreshIsSingleFlight(t *testing.T) {
	s := newSessionPDS(t)
	c := s.client(t, nil)
	for round := 1; round <= 3; round++ {
		s.set(func() { s.access = "expired" })
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := put(c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s.logins() != 1 || s.refreshes() != round-1 {
			t.Fatalf("round %d: %d logins, %d refreshes", round, s.logins(), s.refreshes())
		}
	}
}

// A caller that is late, whose credentials were replaced long ago, doesn't answer for one
// whose own are refused now.
func TestEachGenerationIsRenewed(t *testing.T) {
	s := newSessionPDS(t)
	c := s.client(t, nil)
	if err := put(c); err != nil {
		t.Fatal(err)
	}
	auth := c.cfg.Auth.(*PasswordAuth)
	_, now := auth.token()
	auth.mu.Lock() // both have asked before either is answered
	var wg sync.WaitGroup
	for _, generation := range []uint64{now - 1, now} {
		wg.Go(func() {
			if err := auth.Renew(t.Context(), generation); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Millisecond) // enough to fail, were it otherwise
	}
	auth.mu.Unlock()
	wg.Wait()
	if _, renewed := auth.token(); renewed != now+1 || s.refreshes() != 1 {
		t.Errorf("generation %d after %d, %d refreshes", renewed, now, s.refreshes())
	}
}

func TestLogoutEndsTheSession(t *testing.T) {
	s := newSessionPDS(t)
	var ended string
	s.on("com.atproto.server.deleteSession", func(_ http.ResponseWriter, r *http.Request) { ended = r.Header.Get("Authorization") })
	c := s.client(t, nil)
	auth := c.cfg.Auth.(*PasswordAuth)
	if err := auth.Logout(t.Context()); err != nil || ended != "" {
		t.Errorf("without a session: %v, %q", err, ended)
	}
	if err := put(c); err != nil {
		t.Fatal(err)
	}
	if err := auth.Logout(t.Context()); err != nil || ended != "Bearer refresh-1" {
		t.Errorf("%v, %q", err, ended)
	}
	if err := put(c); err != nil || s.logins() != 2 || s.refreshes() != 0 {
		t.Errorf("%v, %d logins, %d refreshes", err, s.logins(), s.refreshes())
	}
}

func TestRefusedRefreshLogsInAgain(t *testing.T) {
	s := newSessionPDS(t)
	c := s.client(t, nil)
	if err := put(c); err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.access, s.refreshWrong = "revoked", true })
	if err := put(c); err != nil {
		t.Fatal(err)
	}
	if s.logins() != 2 || s.refreshes() != 1 {
		t.Errorf("%d logins, %d refreshes", s.logins(), s.refreshes())
	}
}

// A refused login is not repeated for a while: PDSes count logins.
func TestRefusedLoginHoldsOff(t *testing.T) {
	s := newSessionPDS(t)
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	c := s.client(t, clk)
	s.set(func() { s.passwordWrong = true })
	for range 5 {
		if err := put(c); !errors.Is(err, ErrUnauthorized) {
			t.Fatal(err)
		}
	}
	if s.logins() != 1 {
		t.Errorf("%d logins with a wrong password", s.logins())
	}
	s.set(func() { s.passwordWrong = false })
	clk.Step(loginHoldOff)
	if err := put(c); err != nil {
		t.Errorf("after the hold-off: %v", err)
	}
}

func TestSessionOfAnotherAccount(t *testing.T) {
	s := newSessionPDS(t)
	c := s.client(t, nil)
	s.set(func() { s.did = "did:plc:other" })
	if err := put(c); !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "did:plc:other") {
		t.Errorf("%v", err)
	}
	if s.count(putMethod) != 0 {
		t.Error("a write was sent with another account's token")
	}
}

// While the session service fails nothing is written, and the caller hears that.
func TestSessionServiceDown(t *testing.T) {
	s := newSessionPDS(t)
	c := s.client(t, nil)
	if err := put(c); err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.access = "expired" })
	for name, h := range map[string]http.HandlerFunc{"500": status(500), "hang-up": hangUp, "not json": func(http.ResponseWriter, *http.Request) {}} {
		s.on("com.atproto.server.refreshSession", h)
		if err := put(c); errors.Is(err, ErrUnknownOutcome) || !(errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBadData)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.logins() != 1 {
		t.Errorf("%d logins", s.logins())
	}
}

func TestLoginLimitIsRemembered(t *testing.T) {
	s := newSessionPDS(t)
	s.on("com.atproto.server.createSession", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		reply(w, 429, xrpcError("RateLimitExceeded", ""))
	})
	c := s.client(t, testclock.NewFakeClock(time.Unix(1_800_000_000, 0)))
	for range 3 {
		if err := put(c); !errors.Is(err, ErrRateLimited) || RetryAfter(err) != 2*time.Minute {
			t.Errorf("%v", err)
		}
	}
	if s.logins() != 1 {
		t.Errorf("%d logins", s.logins())
	}
	if !c.Budget().PausedUntil().IsZero() {
		t.Error("a login limit paused the reads")
	}
}

func TestCredentialsPrintWithoutPassword(t *testing.T) {
	c := Credentials{Identifier: "alice.test", Password: "hunter2"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, c); strings.Contains(got, "hunter2") || strings.Contains(got, fmt.Sprintf("%x", "hunter2")) || !strings.Contains(got, "alice.test") {
			t.Errorf("%s: %s", verb, got)
		}
	}
}
