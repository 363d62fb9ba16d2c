package contracttest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// ExpiredToken checks what the PDS says to a token that has expired, and that
// the client renews it. expire makes an access token of the PDS expire, or gives
// one that has.
func ExpiredToken(t *testing.T, s *testpds.Server, expire func(token string) string) {
	t.Helper()
	e := newEnv(t, s, nil)
	expired := expire(e.session(t, alice))
	var out struct{ Error string }
	k := key(t)
	status := e.post(t, "com.atproto.repo.putRecord", expired, map[string]any{
		"repo": e.accounts[alice].DID, "collection": k.Collection, "rkey": k.RKey, "record": value("A"),
	}, &out)
	if status != http.StatusBadRequest || out.Error != "ExpiredToken" {
		t.Errorf("put with an expired token: HTTP %d %s", status, out.Error)
	}
	_, err := e.withToken(t, alice, expired).PutRecord(t.Context(), k, value("A"), absent)
	wantErr(t, err, atproto.ErrUnauthorized)
	e.renewedOnce(t, expire)
}

// renewedOnce checks that a token that the PDS doesn't take is replaced once for
// all callers, and that their writes go through.
func (e *env) renewedOnce(t *testing.T, spoil func(token string) string) {
	t.Helper()
	a := e.accounts[alice]
	cfg := e.config(a.DID)
	inner, err := atproto.NewPasswordAuth(cfg, atproto.Credentials{Identifier: a.DID, Password: a.Password})
	if err != nil {
		t.Fatal(err)
	}
	spoiled := &spoiledOnce{Auth: inner, spoil: spoil}
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
	spoil func(token string) string
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
		token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		req.Header.Set("Authorization", "Bearer "+s.spoil(token))
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
