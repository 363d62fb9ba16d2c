package atproto

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/bluesky-social/indigo/atproto/identity"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// KeyResolver finds the key that signs an account's commits.
type KeyResolver interface {
	// SigningKey of an account. fresh asks for a new look at the source, since a
	// signature did not verify and the key may have been rotated.
	SigningKey(ctx context.Context, did string, fresh bool) (atcrypto.PublicKey, error)
}

// IdentitySource reads the identity of an account; DIDResolver and PDSIdentity
// are two.
type IdentitySource interface {
	// Resolve reads the account's DID document.
	Resolve(ctx context.Context, did string) (*identity.Identity, error)
}

const (
	// keyTTL is how long a key is used without another look. A rotated key shows
	// itself earlier by signatures that don't verify.
	keyTTL = 12 * time.Hour
	// keyFreshEvery bounds how often bad signatures make us ask the directory.
	keyFreshEvery = 10 * time.Second
)

// Keys is a KeyResolver over an IdentitySource that remembers keys. When the
// source fails, a key that is known already stays in use.
type Keys struct {
	source IdentitySource
	clock  clock.PassiveClock
	flight singleflight.Group

	mu   sync.Mutex // guards keys
	keys map[string]cachedKey
}

type cachedKey struct {
	key atcrypto.PublicKey
	at  time.Time
}

var _ KeyResolver = (*Keys)(nil)

// NewKeys makes a cache over source; share one between the clients of a process.
// clk nil is the real clock.
func NewKeys(source IdentitySource, clk clock.PassiveClock) *Keys {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Keys{source: source, clock: clk, keys: map[string]cachedKey{}}
}

// SigningKey implements KeyResolver.
func (k *Keys) SigningKey(ctx context.Context, did string, fresh bool) (atcrypto.PublicKey, error) {
	cached, known := k.get(did)
	age := k.clock.Since(cached.at)
	if known && ((!fresh && age < keyTTL) || (fresh && age < keyFreshEvery)) {
		return cached.key, nil
	}
	ch := k.flight.DoChan(did, func() (any, error) {
		return k.fetch(context.WithoutCancel(ctx), did)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("signing key of %s: %w: %w", did, ErrUnavailable, ctx.Err())
	case r := <-ch:
		if r.Err == nil {
			return r.Val.(atcrypto.PublicKey), nil
		}
		if known {
			return cached.key, nil
		}
		return nil, fmt.Errorf("signing key of %s: %w", did, r.Err)
	}
}

func (k *Keys) get(did string) (cachedKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.keys[did]
	return c, ok
}

func (k *Keys) fetch(ctx context.Context, did string) (atcrypto.PublicKey, error) {
	ident, err := k.source.Resolve(ctx, did)
	if err != nil {
		return nil, err
	}
	key, err := ident.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadData, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[did] = cachedKey{key: key, at: k.clock.Now()}
	return key, nil
}
