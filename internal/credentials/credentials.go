// Package credentials finds the credentials of atproto accounts. Credentials are
// scoped by workspace: what one workspace names can't be another's.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// What keeps a provider from an answer. Everything else that Get returns says that the
// credentials are there and no good.
var (
	// ErrNotFound: there are no credentials of that name in that workspace.
	ErrNotFound = errors.New("credentials not found")
	// ErrUnavailable: whether there are can't be told now. No error of the API that was
	// asked is wrapped by it: it would be taken for the answer to another request.
	ErrUnavailable = errors.New("credentials can't be read")
)

// The entries of one account's credentials, as file names or as keys of a
// Secret.
const (
	// IdentifierKey holds the account's handle or DID.
	IdentifierKey = "identifier"
	// PasswordKey holds the account's password or an app password.
	PasswordKey = "password"
	// PDSKey, where there is one, holds the base URL of the only PDS that the
	// password may be sent to.
	PDSKey = "pds"
)

// Credentials of an account, with where they may be used. They print as nothing
// but the identifier.
type Credentials struct {
	atproto.Credentials
	// PDS is the only PDS that the password may be sent to, as
	// atproto.NormalizeHost writes it; "": the one that the account's DID document
	// names.
	PDS string
}

// Provider finds credentials. It may be asked often: an answer is not kept, so
// that a changed password is seen.
type Provider interface {
	// Get returns the credentials of a name in a workspace, ErrNotFound or
	// ErrUnavailable.
	Get(ctx context.Context, workspace, name string) (Credentials, error)
}

// None has no credentials.
type None struct{}

// Get implements Provider.
func (None) Get(context.Context, string, string) (Credentials, error) {
	return Credentials{}, ErrNotFound
}

// parse makes credentials of their entries. White space around them, such as the
// line end of a file, isn't part of them.
func parse(identifier, password, pds []byte) (Credentials, error) {
	c := Credentials{
		Credentials: atproto.Credentials{
			Identifier: strings.TrimSpace(string(identifier)),
			Password:   strings.TrimSpace(string(password)),
		},
		PDS: strings.TrimSpace(string(pds)),
	}
	switch {
	case c.Identifier == "":
		return Credentials{}, errors.New(IdentifierKey + " is empty")
	case c.Password == "":
		return Credentials{}, errors.New(PasswordKey + " is empty")
	case c.PDS == "":
		return c, nil
	}
	var err error
	if c.PDS, err = atproto.NormalizeHost(c.PDS); err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", PDSKey, err)
	}
	return c, nil
}
