package atproto

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// LoginOptions of Login; the zero value is useful.
type LoginOptions struct {
	// AllowPrivate lets the PDS be at a private or loopback address. It is
	// ignored when HTTP is set.
	AllowPrivate bool
	// TrustPDS takes the account's signing key from the PDS itself instead of
	// its DID document (PDSIdentity): for the embedded PDS.
	TrustPDS bool
	// HTTP, PLCURL, Keys, Budget, Clock, Timeout and Observe as in Config.
	HTTP    *http.Client
	PLCURL  string
	Keys    KeyResolver
	Budget  *Budget
	Clock   clock.WithTicker
	Timeout time.Duration
	Observe func(method string, status int, took time.Duration)
}

// Login opens a session and makes the client of the account that it is of.
func Login(ctx context.Context, pds string, creds Credentials, o LoginOptions) (*Client, error) {
	if o.HTTP == nil {
		o.HTTP = NewHTTPClient(o.AllowPrivate)
	}
	cfg := Config{
		PDS: pds, DID: anyDID, HTTP: o.HTTP, PLCURL: o.PLCURL, Keys: o.Keys, Budget: o.Budget, Clock: o.Clock,
		Timeout: o.Timeout, Observe: o.Observe,
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	s, err := newRPC(cfg).createSession(ctx, cfg.DID, creds)
	if err != nil {
		return nil, fmt.Errorf("log in as %s: %w", creds.Identifier, err)
	}
	cfg.DID = s.DID
	if o.Keys == nil && o.TrustPDS {
		cfg.Keys = NewKeys(&PDSIdentity{rpc: newRPC(cfg)}, cfg.Clock)
	}
	if cfg, err = cfg.complete(); err != nil {
		return nil, fmt.Errorf("log in as %s at %s: %w: %w", creds.Identifier, cfg.PDS, ErrBadData, err)
	}
	auth := newPasswordAuth(newRPC(cfg), cfg, creds)
	if err := auth.adopt(s); err != nil {
		return nil, err
	}
	cfg.Auth = auth
	return NewClient(cfg)
}

// anyDID stands for the account until the session says which one it is.
const anyDID = "did:plc:unknown"
