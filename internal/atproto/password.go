package atproto

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// loginHoldOff is how long a refused login is remembered: a PDS allows 30 logins
// in 5 minutes, and a wrong password does not become right by repetition.
const loginHoldOff = 30 * time.Second

// PasswordAuth is a session opened with a password or an app password
// (com.atproto.server.createSession and refreshSession).
type PasswordAuth struct {
	// Permit, if set before the first use, is asked before each login, with the
	// password unsent. Its error is the login's, and is not remembered.
	Permit func(context.Context) error

	rpc   *rpc
	creds Credentials
	did   string
	clock clock.PassiveClock

	flight singleflight.Group

	mu sync.Mutex // guards the fields below
	// generation counts the changes of the tokens.
	generation uint64
	// access and refresh are the session's tokens; "": there is no session.
	access, refresh string
	// refused is why the last login was refused, until refusedUntil.
	refused      error
	refusedUntil time.Time
}

var _ Auth = (*PasswordAuth)(nil)

// NewPasswordAuth makes the Auth of an account; it asks the PDS only when first
// used. Of cfg it takes PDS, DID, HTTP, Budget, Clock, Timeout and UserAgent. A
// session that turns out to be another account's than cfg.DID is ErrUnauthorized.
func NewPasswordAuth(cfg Config, creds Credentials) (*PasswordAuth, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return newPasswordAuth(newRPC(cfg), cfg, creds), nil
}

func newPasswordAuth(r *rpc, cfg Config, creds Credentials) *PasswordAuth {
	return &PasswordAuth{rpc: r, creds: creds, did: cfg.DID, clock: cfg.Clock}
}

// Authorize implements Auth.
func (a *PasswordAuth) Authorize(ctx context.Context, req *http.Request) (uint64, error) {
	access, gen := a.token()
	if access == "" {
		if err := a.Renew(ctx, gen); err != nil {
			return 0, err
		}
		access, gen = a.token()
	}
	req.Header.Set("Authorization", "Bearer "+access)
	return gen, nil
}

// Renew implements Auth: one refresh for all callers, and where the refresh
// token is refused one login.
func (a *PasswordAuth) Renew(ctx context.Context, generation uint64) error {
	// The work is detached from the caller: if it gave up in the middle, the
	// rotated refresh token would be lost for everybody else. It is shared by those of
	// one generation: for one that was replaced before there is nothing to do.
	ch := a.flight.DoChan(strconv.FormatUint(generation, 10), func() (any, error) {
		return nil, a.renew(context.WithoutCancel(ctx), generation)
	})
	select {
	case r := <-ch:
		if r.Err == nil {
			return nil
		}
		return fmt.Errorf("session of %s at %s: %w", a.did, a.rpc.host, r.Err)
	case <-ctx.Done():
		return fmt.Errorf("session of %s at %s: %w: %w", a.did, a.rpc.host, ErrUnavailable, ctx.Err())
	}
}

func (a *PasswordAuth) renew(ctx context.Context, generation uint64) error {
	a.mu.Lock()
	current, refresh := a.generation, a.refresh
	refused := a.refused
	if refused != nil && !a.clock.Now().Before(a.refusedUntil) {
		refused, a.refused = nil, nil
	}
	a.mu.Unlock()
	if current != generation {
		return nil // somebody else renewed it
	}
	if refused != nil {
		return refused
	}
	if refresh != "" {
		out, err := a.rpc.refreshSession(ctx, a.did, refresh)
		if err == nil {
			return a.adopt(out)
		}
		if !errors.Is(err, ErrUnauthorized) {
			return err
		}
	}
	if a.Permit != nil {
		if err := a.Permit(ctx); err != nil {
			return err
		}
	}
	out, err := a.rpc.createSession(ctx, a.did, a.creds)
	if err != nil {
		a.holdOff(err)
		return err
	}
	return a.adopt(out)
}

// adopt takes a session if it is the configured account's.
func (a *PasswordAuth) adopt(s session) error {
	if s.DID != a.did || s.AccessJwt == "" || s.RefreshJwt == "" {
		err := fmt.Errorf("%w: the session is of account %q, not %q", ErrUnauthorized, s.DID, a.did)
		a.holdOff(err)
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.generation++
	a.access, a.refresh = s.AccessJwt, s.RefreshJwt
	a.refused = nil
	return nil
}

// holdOff remembers a refusal, not a failure of the network.
func (a *PasswordAuth) holdOff(err error) {
	wait := loginHoldOff
	switch {
	case errors.Is(err, ErrRateLimited):
		wait = max(wait, RetryAfter(err))
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrRepoInactive):
	default:
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused, a.refusedUntil = err, a.clock.Now().Add(wait)
}

// Logout ends the session at the PDS, if there is one. The next use logs in again.
func (a *PasswordAuth) Logout(ctx context.Context) error {
	a.mu.Lock()
	refresh := a.refresh
	a.access, a.refresh = "", ""
	a.generation++
	a.mu.Unlock()
	if refresh == "" {
		return nil
	}
	if err := a.rpc.deleteSession(ctx, a.did, refresh); err != nil {
		return fmt.Errorf("log out %s: %w", a.did, err)
	}
	return nil
}

func (a *PasswordAuth) token() (string, uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.access, a.generation
}
