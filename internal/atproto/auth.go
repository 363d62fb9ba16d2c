package atproto

import (
	"context"
	"fmt"
	"net/http"
)

// Auth adds the account's credentials to requests. A password session
// (NewPasswordAuth) is one implementation; OAuth with DPoP fits too, as the
// whole request can be signed. Implementations are safe for concurrent use.
type Auth interface {
	// Authorize sets the credentials of req, opening a session first where there
	// is none. The generation identifies the credentials that were used.
	Authorize(ctx context.Context, req *http.Request) (generation uint64, err error)
	// Renew replaces the credentials of the generation after the PDS refused
	// them. If they have been replaced already it returns at once, so that many
	// callers whose token expired at the same time cause one refresh.
	Renew(ctx context.Context, generation uint64) error
}

// Credentials of a password session. They print as nothing but the identifier.
type Credentials struct {
	// Identifier is the account's handle or DID.
	Identifier string
	// Password is the account's password or an app password.
	Password string
}

// String names the account and hides the password.
func (c Credentials) String() string { return c.Identifier + " (password hidden)" }

// GoString hides the password in %#v too.
func (c Credentials) GoString() string { return c.String() }

// Format hides the password in every other verb.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }
