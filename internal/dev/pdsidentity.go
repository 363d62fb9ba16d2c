package dev

import (
	"context"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/identity"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/repos"
)

// pdsIdentities takes what a PDS says about its own accounts: on loopback nobody
// else knows them.
type pdsIdentities struct{ *atproto.PDSIdentity }

var _ repos.Identities = pdsIdentities{}

// ResolveHandle implements repos.Identities. dev names its account by DID.
func (pdsIdentities) ResolveHandle(_ context.Context, handle string) (*identity.Identity, error) {
	return nil, fmt.Errorf("handle %s: %w: without --plc-url accounts are named by their DID", handle, atproto.ErrRepoNotFound)
}

func fromPDS(host, did string) (repos.Identities, atproto.KeyResolver, error) {
	source, err := atproto.NewPDSIdentity(atproto.Config{PDS: host, DID: did, HTTP: atproto.NewHTTPClient(true)})
	if err != nil {
		return nil, nil, fmt.Errorf("identities of %s: %w", host, err)
	}
	return pdsIdentities{source}, atproto.NewKeys(source, nil), nil
}
