package atproto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/bluesky-social/indigo/atproto/identity"
	"github.com/bluesky-social/indigo/atproto/syntax"
)

// DefaultPLCURL is the public did:plc directory.
const DefaultPLCURL = "https://plc.directory"

// maxDIDDocument bounds a DID document.
const maxDIDDocument = 256 << 10

// DIDResolver reads DID documents (did:plc from a directory, did:web from its
// host) and resolves handles. It caches nothing.
type DIDResolver struct {
	// PLCURL is the did:plc directory; "": DefaultPLCURL.
	PLCURL string
	// HTTP sends the requests and decides which addresses are allowed; required.
	HTTP *http.Client
	// DialDNS connects to the DNS server that handles are looked up at; nil: the
	// machine's.
	DialDNS func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolve reads the DID document of did. ErrRepoNotFound: there is none.
func (r *DIDResolver) Resolve(ctx context.Context, did string) (*identity.Identity, error) {
	d, err := syntax.ParseDID(did)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w: %w", did, ErrBadData, err)
	}
	target, err := r.documentURL(d)
	if err != nil {
		return nil, err
	}
	b, err := r.get(ctx, target, maxDIDDocument)
	if err != nil {
		return nil, fmt.Errorf("DID document of %s: %w", did, err)
	}
	var doc identity.DIDDocument
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("DID document of %s: %w: %w", did, ErrBadData, err)
	}
	if doc.DID != d {
		return nil, fmt.Errorf("DID document of %s: %w: it is of %q", did, ErrBadData, doc.DID)
	}
	ident := identity.ParseIdentity(&doc)
	return &ident, nil
}

// documentURL is where a DID's document is. A did:web with a port is allowed for
// localhost alone and by http, as the atproto DID specification says; whether
// loopback may be dialled is the HTTP client's decision.
func (r *DIDResolver) documentURL(did syntax.DID) (string, error) {
	switch did.Method() {
	case "plc":
		plc := r.PLCURL
		if plc == "" {
			plc = DefaultPLCURL
		}
		return strings.TrimRight(plc, "/") + "/" + did.String(), nil
	case "web":
		host, err := url.PathUnescape(did.Identifier())
		if err != nil || strings.ContainsAny(host, "/?#@\\") {
			return "", fmt.Errorf("resolve %s: %w: not a host", did, ErrBadData)
		}
		name, _, found := strings.Cut(host, ":")
		local := name == "localhost" || strings.HasSuffix(name, ".localhost")
		_, ipErr := netip.ParseAddr(name)
		if (found && !local) || ipErr == nil {
			return "", fmt.Errorf("resolve %s: %w: a did:web is a host name without a port", did, ErrBadData)
		}
		scheme := "https"
		if local {
			scheme = "http"
		}
		return scheme + "://" + host + "/.well-known/did.json", nil
	}
	return "", fmt.Errorf("resolve %s: %w: DID method not supported", did, ErrBadData)
}

// ResolveHandle finds the DID of a handle, by DNS (_atproto TXT) or by HTTPS
// (/.well-known/atproto-did), and checks that the DID document names the handle.
func (r *DIDResolver) ResolveHandle(ctx context.Context, handle string) (*identity.Identity, error) {
	h, err := syntax.ParseHandle(handle)
	if err != nil {
		return nil, fmt.Errorf("resolve handle %q: %w: %w", handle, ErrBadData, err)
	}
	h = h.Normalize()
	dir := identity.BaseDirectory{HTTPClient: *r.HTTP, UserAgent: defaultUserAgent}
	if r.DialDNS != nil {
		dir.Resolver.PreferGo, dir.Resolver.Dial = true, r.DialDNS
	}
	did, err := dir.ResolveHandle(ctx, h)
	switch {
	case errors.Is(err, identity.ErrHandleNotFound):
		return nil, fmt.Errorf("resolve handle %s: %w: %w", h, ErrRepoNotFound, err)
	case err != nil:
		return nil, fmt.Errorf("resolve handle %s: %w: %w", h, ErrUnavailable, err)
	}
	ident, err := r.Resolve(ctx, did.String())
	if err != nil {
		return nil, err
	}
	if declared, err := ident.DeclaredHandle(); err != nil || declared != h {
		return nil, fmt.Errorf("resolve handle %s: %w: the document of %s names another", h, ErrBadData, did)
	}
	ident.Handle = h
	return ident, nil
}

// get fetches a small document without following redirects.
func (r *DIDResolver) get(ctx context.Context, target string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadData, err)
	}
	req.Header.Set("User-Agent", defaultUserAgent)
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: HTTP %d", ErrRepoNotFound, resp.StatusCode)
	default:
		return nil, fmt.Errorf("%w: HTTP %d", ErrUnavailable, resp.StatusCode)
	}
	body := &limitedReader{r: resp.Body, left: limit}
	b, err := io.ReadAll(body)
	if body.failed != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, body.failed)
	}
	return b, err
}
