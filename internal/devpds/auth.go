package devpds

import (
	"crypto/subtle"
	"net/http"
	"strings"
)

// credentials are who calls.
type credentials struct {
	// admin is the server's administrator.
	admin bool
	// did and scope of an access or refresh token, tokenID of a refresh token.
	did, scope, tokenID string
}

// isUserOrAdmin tells whether the caller may see an inactive repository.
func (c *credentials) isUserOrAdmin(did string) bool {
	return c != nil && (c.admin || c.did == did)
}

// authorization splits the Authorization header: type in lower case, and value.
func authorization(r *http.Request) (kind, value string, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", "", nil
	}
	kind, value, ok := strings.Cut(header, " ")
	if !ok || value == "" || strings.Contains(value, " ") {
		return "", "", badRequest("InvalidToken", "Malformed authorization header")
	}
	switch lower := strings.ToLower(kind); lower {
	case "bearer", "basic", "dpop":
		return lower, value, nil
	}
	return "", "", badRequest("InvalidToken", "Unsupported authorization type: %s", kind)
}

// accessAuth wants an access token with one of the scopes.
func accessAuth(scopes ...string) func(*Server, *http.Request) (*credentials, error) {
	return func(s *Server, r *http.Request) (*credentials, error) {
		kind, token, err := authorization(r)
		switch {
		case err != nil:
			return nil, err
		case kind == "":
			return nil, authRequired("AuthMissing", "")
		case kind != "bearer":
			return nil, badRequest("InvalidToken", "Unexpected authorization type")
		}
		c, err := s.parseToken(token, typeAccess, scopes, false)
		if err != nil {
			return nil, err
		}
		return &credentials{did: c.Subject, scope: c.Scope}, nil
	}
}

// refreshAuth wants a refresh token.
func refreshAuth(allowExpired bool) func(*Server, *http.Request) (*credentials, error) {
	return func(s *Server, r *http.Request) (*credentials, error) {
		kind, token, err := authorization(r)
		switch {
		case err != nil:
			return nil, err
		case kind != "bearer":
			return nil, authRequired("AuthMissing", "")
		}
		c, err := s.parseToken(token, typeRefresh, []string{scopeRefresh}, allowExpired)
		if err != nil {
			return nil, err
		}
		if c.ID == "" {
			return nil, authRequired("MissingTokenId", "Unexpected missing refresh token id")
		}
		return &credentials{did: c.Subject, scope: c.Scope, tokenID: c.ID}, nil
	}
}

// adminAuth wants the administrator's password.
func adminAuth(s *Server, r *http.Request) (*credentials, error) {
	user, password, ok := r.BasicAuth()
	if !ok || user != "admin" || subtle.ConstantTimeCompare([]byte(password), []byte(s.config.AdminPassword)) != 1 {
		return nil, authRequired("", "")
	}
	return &credentials{admin: true}, nil
}

// optionalAuth takes an access token, the administrator, or nobody.
func optionalAuth(scopes ...string) func(*Server, *http.Request) (*credentials, error) {
	access := accessAuth(scopes...)
	return func(s *Server, r *http.Request) (*credentials, error) {
		kind, _, err := authorization(r)
		switch {
		case err != nil:
			return nil, err
		case kind == "":
			return nil, nil
		case kind == "basic":
			return adminAuth(s, r)
		default:
			return access(s, r)
		}
	}
}
