package devpds

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Scopes of tokens.
const (
	scopeAccess            = "com.atproto.access"
	scopeRefresh           = "com.atproto.refresh"
	scopeAppPass           = "com.atproto.appPass"
	scopeAppPassPrivileged = "com.atproto.appPassPrivileged"
	scopeTakendown         = "com.atproto.takendown"

	typeAccess  = "at+jwt"
	typeRefresh = "refresh+jwt"
)

// Which scopes an endpoint accepts.
var (
	accessFull     = []string{scopeAccess}
	accessStandard = []string{scopeAccess, scopeAppPassPrivileged, scopeAppPass}
)

// refreshGrace is how long a refresh token that was used is good for the same
// answer again.
const refreshGrace = 2 * time.Hour

// serviceDID is the audience of the tokens.
const serviceDID = "did:web:localhost"

// refreshToken is what is kept of a refresh token.
type refreshToken struct {
	ID, DID string
	// AppPassword names the password that opened the session; "" is the account's.
	AppPassword string `json:",omitempty"`
	ExpiresAt   time.Time
	// NextID is the token that replaced it.
	NextID string `json:",omitempty"`
}

// claims of a token.
type claims struct {
	Scope string `json:"scope"`
	// Lxm and Cnf mark service tokens and bound tokens, which are refused.
	Lxm any `json:"lxm,omitempty"`
	Cnf any `json:"cnf,omitempty"`
	jwt.RegisteredClaims
}

// newTokenID is a random id of a refresh token.
func newTokenID() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawStdEncoding.EncodeToString(b)
}

// signToken makes a token; id is "" for an access token.
func (s *Server) signToken(kind, scope, did, id string, ttl time.Duration) (string, error) {
	now := s.clock.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{Scope: scope, RegisteredClaims: jwt.RegisteredClaims{
		Audience: jwt.ClaimStrings{serviceDID}, Subject: did, ID: id,
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}})
	t.Header["typ"] = kind
	signed, err := t.SignedString(s.secret)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// parseToken verifies a token of a kind and its scope.
func (s *Server) parseToken(token, kind string, scopes []string, allowExpired bool) (*claims, error) {
	bad := func(text string) error { return badRequest("InvalidToken", "%s", text) }
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience(serviceDID),
		jwt.WithTimeFunc(s.clock.Now), jwt.WithExpirationRequired(),
	}
	if allowExpired {
		options = append(options, jwt.WithLeeway(100*365*24*time.Hour))
	}
	var c claims
	t, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.secret, nil }, options...)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return nil, badRequest("ExpiredToken", "Token has expired")
	case err != nil || t.Header["typ"] != kind:
		return nil, bad("Token could not be verified")
	case c.Lxm != nil || c.Cnf != nil || c.Subject == "":
		return nil, bad("Malformed token")
	case !slices.Contains(scopes, c.Scope):
		return nil, bad("Bad token scope")
	}
	return &c, nil
}

// tokenPair is what a session gets.
type tokenPair struct{ access, refresh string }

// issue makes a pair; the caller stores the refresh token.
func (s *Server) issue(did, scope, refreshID string) (tokenPair, error) {
	access, err := s.signToken(typeAccess, scope, did, "", s.config.AccessTTL)
	if err != nil {
		return tokenPair{}, err
	}
	refresh, err := s.signToken(typeRefresh, scopeRefresh, did, refreshID, s.config.RefreshTTL)
	return tokenPair{access, refresh}, err
}
