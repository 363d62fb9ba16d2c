package repos

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
)

// provider answers with what the test sets.
type provider struct {
	mu       sync.Mutex
	password string
	asked    int
}

func (p *provider) set(password string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.password = password
}

func (p *provider) Get(context.Context, string, string) (credentials.Credentials, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.password == "" {
		return credentials.Credentials{}, credentials.ErrNotFound
	}
	return credentials.Credentials{Credentials: atproto.Credentials{Identifier: "a", Password: p.password}}, nil
}

// session is the Auth of one password: the PDS accepts "right" alone.
type session struct {
	password string
	renewed  uint64
}

func (s *session) Authorize(_ context.Context, req *http.Request) (uint64, error) {
	if s.password != "right" {
		return 0, atproto.ErrUnauthorized
	}
	req.Header.Set("Authorization", s.password)
	return s.renewed + 1, nil
}

func (s *session) Renew(_ context.Context, generation uint64) error {
	if s.password != "right" {
		return atproto.ErrUnauthorized
	}
	if generation == s.renewed+1 {
		s.renewed++
	}
	return nil
}

func newRotating(p *provider) *rotating {
	return &rotating{provider: p, workspace: "w", name: "n", make: func(c credentials.Credentials) (atproto.Auth, error) {
		return &session{password: c.Password}, nil
	}}
}

func authorize(t *testing.T, r *rotating) (uint64, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://pds", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r.Authorize(t.Context(), req)
}

// Credentials that appear or change are taken without a restart.
func TestCredentialsRotate(t *testing.T) {
	p := &provider{}
	r := newRotating(p)
	if _, err := authorize(t, r); !errors.Is(err, atproto.ErrUnauthorized) || !errors.Is(err, credentials.ErrNotFound) {
		t.Errorf("without credentials: %v", err)
	}
	p.set("wrong")
	if _, err := authorize(t, r); !errors.Is(err, atproto.ErrUnauthorized) {
		t.Errorf("with wrong ones: %v", err)
	}
	p.set("right")
	first, err := authorize(t, r)
	if err != nil {
		t.Fatal(err)
	}
	asked := p.asked
	if again, err := authorize(t, r); err != nil || again != first || p.asked != asked {
		t.Errorf("again: generation %d after %d, %v, the provider was asked %d times", again, first, err, p.asked-asked)
	}
	// The token ran out: a renewal in the same session.
	if err := r.Renew(t.Context(), first); err != nil {
		t.Error(err)
	}
	second, err := authorize(t, r)
	if err != nil || second == first {
		t.Errorf("after a renewal: generation %d, %v", second, err)
	}
}

// A renewal that an older session's caller asks for does nothing: it was replaced.
func TestGenerationsOfSessionsNeverMeet(t *testing.T) {
	p := &provider{password: "right"}
	r := newRotating(p)
	old, err := authorize(t, r)
	if err != nil {
		t.Fatal(err)
	}
	r.inner = &session{password: "revoked"}
	p.set("right")
	r.creds.Password = "revoked"
	if err := r.Renew(t.Context(), old); err != nil {
		t.Fatalf("renewal by new credentials: %v", err)
	}
	now, err := authorize(t, r)
	if err != nil || now == old {
		t.Fatalf("generation %d after %d, %v", now, old, err)
	}
	if err := r.Renew(t.Context(), old); err != nil {
		t.Error(err)
	}
	if again, err := authorize(t, r); err != nil || again != now {
		t.Errorf("an old caller's renewal changed generation %d to %d (%v)", now, again, err)
	}
}
