package repos

import (
	"context"
	"fmt"
	"strings"

	"github.com/bluesky-social/indigo/atproto/identity"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Identities reads the identities of accounts. atproto.DIDResolver is one.
type Identities interface {
	// Resolve reads the DID document of did.
	Resolve(ctx context.Context, did string) (*identity.Identity, error)
	// ResolveHandle finds the account of a handle.
	ResolveHandle(ctx context.Context, handle string) (*identity.Identity, error)
}

// account is where an AtprotoRepo's account is.
type account struct {
	did, handle, pds string
}

// known is what needs no network: the spec, and what an earlier look left in the
// status. ok tells whether the account can be reached with it.
func known(obj *v1alpha1.AtprotoRepo) (a account, ok bool) {
	a = account{did: obj.Spec.DID, handle: obj.Status.Handle, pds: obj.Spec.PDS}
	if a.did == "" {
		a.did = obj.Status.DID // a handle is resolved once
	}
	if a.pds == "" && a.did == obj.Status.DID {
		a.pds = obj.Status.PDS
	}
	return a, a.did != "" && a.pds != ""
}

// resolve asks for what known doesn't tell.
func resolve(ctx context.Context, ids Identities, obj *v1alpha1.AtprotoRepo) (account, error) {
	a, _ := known(obj)
	var ident *identity.Identity
	var err error
	if a.did == "" {
		ident, err = ids.ResolveHandle(ctx, obj.Spec.Handle)
	} else {
		ident, err = ids.Resolve(ctx, a.did)
	}
	if err != nil {
		return a, err
	}
	a.did, a.handle = ident.DID.String(), handleOf(ident)
	if obj.Spec.PDS != "" {
		return a, nil
	}
	if a.pds, err = atproto.NormalizeHost(ident.PDSEndpoint()); err != nil {
		return a, fmt.Errorf("DID document of %s: %w", a.did, err)
	}
	return a, nil
}

// otherHandle tells where the spec and the DID document, which was read, name
// different handles. The account is the DID's: nothing else depends on the handle.
func otherHandle(spec *v1alpha1.AtprotoRepoSpec, declared string) string {
	if spec.DID == "" || spec.Handle == "" || declared == "" || strings.EqualFold(spec.Handle, declared) {
		return ""
	}
	return fmt.Sprintf("spec.handle is %s, but the DID document of %s names %s: the repository is that of spec.did, correct spec.handle", spec.Handle, spec.DID, declared)
}

// handleOf is the handle that the document names, whether or not it was checked.
func handleOf(ident *identity.Identity) string {
	h, err := ident.DeclaredHandle()
	if err != nil {
		return ""
	}
	return h.String()
}
