// Package credentials finds the credentials of atproto accounts. Credentials are
// scoped by workspace: what one workspace names can't be another's.
package credentials

import (
	"context"
	"errors"
	"strings"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// ErrNotFound: there are no credentials of that name in that workspace.
var ErrNotFound = errors.New("credentials not found")

// The entries of one account's credentials, as file names or as keys of a
// Secret.
const (
	// IdentifierKey holds the account's handle or DID.
	IdentifierKey = "identifier"
	// PasswordKey holds the account's password or an app password.
	PasswordKey = "password"
)

// Provider finds credentials. It may be asked often: an answer is not kept, so
// that a changed password is seen.
type Provider interface {
	// Get returns the credentials of a name in a workspace, or ErrNotFound.
	Get(ctx context.Context, workspace, name string) (atproto.Credentials, error)
}

// None has no credentials.
type None struct{}

// Get implements Provider.
func (None) Get(context.Context, string, string) (atproto.Credentials, error) {
	return atproto.Credentials{}, ErrNotFound
}

// parse makes credentials of their two entries. White space around them, such as
// the line end of a file, isn't part of them.
func parse(identifier, password []byte) (atproto.Credentials, error) {
	c := atproto.Credentials{
		Identifier: strings.TrimSpace(string(identifier)),
		Password:   strings.TrimSpace(string(password)),
	}
	switch {
	case c.Identifier == "":
		return c, errors.New(IdentifierKey + " is empty")
	case c.Password == "":
		return c, errors.New(PasswordKey + " is empty")
	}
	return c, nil
}
