package contracttest

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

var sessionCases = []testCase{
	{"LoginByHandleAndDID", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		for _, id := range []string{a.Handle, a.DID} {
			c, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: id, Password: a.Password}, e.loginOptions())
			if err != nil {
				t.Fatalf("log in as %s: %v", id, err)
			}
			if c.DID() != a.DID {
				t.Errorf("logged in as %s: %s", id, c.DID())
			}
			if err := c.CheckAuth(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}},
	{"WrongPasswordIsUnauthorized", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		_, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: a.DID, Password: "wrong"}, e.loginOptions())
		wantErr(t, err, atproto.ErrUnauthorized)
	}},
	{"SessionOfAnotherAccountIsUnauthorized", func(t *testing.T, e *env) {
		a, b := e.accounts[alice], e.accounts[bob]
		cfg := e.config(a.DID)
		auth, err := atproto.NewPasswordAuth(cfg, atproto.Credentials{Identifier: b.DID, Password: b.Password})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Auth = auth
		c, err := atproto.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
		wantErr(t, c.CheckAuth(t.Context()), atproto.ErrUnauthorized)
	}},
	{"TokenOfAnotherAccountIsRefused", func(t *testing.T, e *env) {
		c := e.withToken(t, alice, e.session(t, bob))
		_, err := c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
		_, err = c.GetRecord(t.Context(), key(t))
		wantErr(t, err, atproto.ErrRecordNotFound)
	}},
	{"GarbageTokenIsUnauthorized", func(t *testing.T, e *env) {
		c := e.withToken(t, alice, "garbage")
		_, err := c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
	}},
	// A token that the PDS doesn't take is replaced once for all callers, and
	// their writes go through.
	{"RefusedTokenIsRenewedOnce", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		cfg := e.config(a.DID)
		inner, err := atproto.NewPasswordAuth(cfg, atproto.Credentials{Identifier: a.DID, Password: a.Password})
		if err != nil {
			t.Fatal(err)
		}
		spoiled := &spoiledOnce{Auth: inner}
		cfg.Auth = spoiled
		c, err := atproto.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if _, err := c.PutRecord(t.Context(), key(t, string(rune('a'+i))), value("A"), absent); err != nil {
					t.Errorf("put: %v", err)
				}
			})
		}
		wg.Wait()
		if n := len(spoiled.renewed()); n != 1 {
			t.Errorf("%d generations were renewed, want 1", n)
		}
	}},
}

// withToken makes a client that always sends this token.
func (e *env) withToken(t *testing.T, name, token string) *atproto.Client {
	t.Helper()
	cfg := e.config(e.accounts[name].DID)
	cfg.Auth = fixedToken(token)
	c, err := atproto.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fixedToken is an Auth that can't be renewed.
type fixedToken string

// Authorize implements atproto.Auth.
func (f fixedToken) Authorize(_ context.Context, req *http.Request) (uint64, error) {
	req.Header.Set("Authorization", "Bearer "+string(f))
	return 1, nil
}

// Renew implements atproto.Auth.
func (f fixedToken) Renew(context.Context, uint64) error { return nil }

// spoiledOnce spoils the token of the first generation.
type spoiledOnce struct {
	atproto.Auth
	first atomic.Uint64

	mu   sync.Mutex
	gens map[uint64]bool
}

// Authorize implements atproto.Auth.
func (s *spoiledOnce) Authorize(ctx context.Context, req *http.Request) (uint64, error) {
	gen, err := s.Auth.Authorize(ctx, req)
	if err != nil {
		return 0, err
	}
	s.first.CompareAndSwap(0, gen)
	if gen == s.first.Load() {
		req.Header.Set("Authorization", req.Header.Get("Authorization")+"x")
	}
	return gen, nil
}

// Renew implements atproto.Auth.
func (s *spoiledOnce) Renew(ctx context.Context, gen uint64) error {
	if gen != 0 {
		s.mu.Lock()
		if s.gens == nil {
			s.gens = map[uint64]bool{}
		}
		s.gens[gen] = true
		s.mu.Unlock()
	}
	return s.Auth.Renew(ctx, gen)
}

func (s *spoiledOnce) renewed() map[uint64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gens
}
