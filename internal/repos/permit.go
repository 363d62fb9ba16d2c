package repos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bluesky-social/indigo/atproto/identity"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
)

// permitTimeout bounds the questions before a login.
const permitTimeout = 10 * time.Second

// permit decides, before each login, whether the password of c may be sent to the
// PDS of rt. An AtprotoRepo names both credentials and PDS, and who may write
// AtprotoRepos need not be who owns the credentials: so the owner's word counts,
// which is the DID document of the account, or the entry "pds" beside the password.
// ErrUnauthorized: it may not. ErrUnavailable: it can't be told now.
func (m *Manager) permit(ctx context.Context, k key, rt route, c credentials.Credentials) error {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	// What the owner took back since c was read counts too; the refusal makes the
	// caller take the new ones.
	now, err := find(ctx, m.Credentials, k.workspace, rt.credentials)
	if err != nil {
		return err
	}
	if now != c {
		return fmt.Errorf("%w: credentials %q changed", atproto.ErrUnauthorized, rt.credentials)
	}
	if strings.HasPrefix(c.Identifier, "did:") {
		return m.permitDID(ctx, rt, c)
	}
	owner, err := m.Identities.ResolveHandle(ctx, c.Identifier)
	if err != nil {
		return notFound(err, fmt.Sprintf("the handle %s of credentials %q can't be resolved: write the account's DID in its entry %q",
			c.Identifier, rt.credentials, credentials.IdentifierKey))
	}
	return matches(rt, c, owner.DID.String(), pdsOf(owner))
}

// permitDID needs no network where the owner pinned the PDS.
func (m *Manager) permitDID(ctx context.Context, rt route, c credentials.Credentials) error {
	if c.PDS != "" || c.Identifier != rt.did {
		return matches(rt, c, c.Identifier, "")
	}
	owner, err := m.Identities.Resolve(ctx, c.Identifier)
	if err != nil {
		return notFound(err, fmt.Sprintf("the DID document of %s, which would tell where credentials %q may be used, can't be read: "+
			"mend it, or write the URL of the PDS in their entry %q", c.Identifier, rt.credentials, credentials.PDSKey))
	}
	return matches(rt, c, owner.DID.String(), pdsOf(owner))
}

// matches compares a route with whose the credentials are, and with the PDS of
// that account.
func matches(rt route, c credentials.Credentials, did, pds string) error {
	switch {
	case did != rt.did:
		return fmt.Errorf("%w: credentials %q are of %s and the AtprotoRepo is of %s: correct spec.credentialsRef, or spec.did or spec.handle",
			atproto.ErrUnauthorized, rt.credentials, did, rt.did)
	case c.PDS != "" && c.PDS != rt.pds:
		return fmt.Errorf("%w: spec.pds: credentials %q may be used at %s alone, not at %s: correct spec.pds, or their entry %q",
			atproto.ErrUnauthorized, rt.credentials, c.PDS, rt.pds, credentials.PDSKey)
	case c.PDS == "" && pds != rt.pds:
		return fmt.Errorf("%w: spec.pds: the DID document of %s names the PDS %s, not %s: leave spec.pds out, "+
			"or let the owner of credentials %q write %s in their entry %q",
			atproto.ErrUnauthorized, did, pds, rt.pds, rt.credentials, rt.pds, credentials.PDSKey)
	}
	return nil
}

// pdsOf is the PDS of an account in the form of a route; "": its document names
// none.
func pdsOf(ident *identity.Identity) string {
	host, err := atproto.NormalizeHost(ident.PDSEndpoint())
	if err != nil {
		return ""
	}
	return host
}

// notFound is a failed resolution as a failed login. It wraps nothing of err: that
// an identity isn't found must not be taken for the repository's absence.
func notFound(err error, what string) error {
	if errors.Is(err, atproto.ErrRepoNotFound) || errors.Is(err, atproto.ErrBadData) {
		return fmt.Errorf("%w: %s (%s)", atproto.ErrUnauthorized, what, err.Error())
	}
	return fmt.Errorf("%w: %s (%s)", atproto.ErrUnavailable, what, err.Error())
}

// find asks a provider. Without credentials nothing is authorized.
func find(ctx context.Context, p credentials.Provider, workspace, name string) (credentials.Credentials, error) {
	c, err := p.Get(ctx, workspace, name)
	if errors.Is(err, credentials.ErrNotFound) {
		err = fmt.Errorf("%w: %w", atproto.ErrUnauthorized, err)
	}
	return c, err
}
