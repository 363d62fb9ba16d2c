package atproto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/bluesky-social/indigo/atproto/identity"
)

// PDSIdentity takes the DID document from the PDS itself
// (com.atproto.repo.describeRepo). What it says is as trustworthy as the PDS:
// right for the embedded one, whose accounts no directory knows, wrong for any
// other.
type PDSIdentity struct{ rpc *rpc }

var _ IdentitySource = (*PDSIdentity)(nil)

// NewPDSIdentity makes the source for the PDS of cfg.
func NewPDSIdentity(cfg Config) (*PDSIdentity, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &PDSIdentity{rpc: newRPC(cfg)}, nil
}

// Resolve implements IdentitySource.
func (p *PDSIdentity) Resolve(ctx context.Context, did string) (*identity.Identity, error) {
	var out struct {
		DIDDoc json.RawMessage `json:"didDoc"`
	}
	err := p.rpc.call(ctx, &call{
		method: "com.atproto.repo.describeRepo", params: url.Values{"repo": {did}}, did: did, upkeep: true, out: &out, limit: maxDIDDocument,
	})
	if errors.Is(err, errNotLocated) {
		return nil, fmt.Errorf("%w: %w", ErrRepoNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	var doc identity.DIDDocument
	if err := json.Unmarshal(out.DIDDoc, &doc); err != nil || doc.DID.String() != did {
		return nil, fmt.Errorf("DID document of %s at %s: %w", did, p.rpc.host, ErrBadData)
	}
	ident := identity.ParseIdentity(&doc)
	return &ident, nil
}
