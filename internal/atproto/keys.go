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
	"k8s.io/utils/lru"
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
	// keyRetryFirst and keyRetryMost bound how long a failed lookup is remembered;
	// the time doubles with each failure. An account whose document can't be had
	// costs its callers, and those behind them in an event stream, little.
	keyRetryFirst, keyRetryMost = time.Second, time.Minute
	// keysKept bounds the accounts that are remembered, those that were asked for last:
	// tenants come and go. One that is forgotten costs a lookup.
	keysKept = 32768
)

// Keys is a KeyResolver over an IdentitySource that remembers keys. When the
// source fails, a key that is known already stays in use.
type Keys struct {
	source IdentitySource
	clock  clock.PassiveClock
	flight singleflight.Group

	mu   sync.Mutex // guards what keys holds
	keys *lru.Cache // DID → *cachedKey
}

// cachedKey is what is known of one account's key.
type cachedKey struct {
	// key is nil until a lookup succeeded, at.
	key atcrypto.PublicKey
	at  time.Time
	// err is the last lookup's, remembered until retryAt; failures counts the
	// failed ones in a row.
	err      error
	failures int
	retryAt  time.Time
}

var _ KeyResolver = (*Keys)(nil)

// NewKeys makes a cache over source; share one between the clients of a process.
// clk nil is the real clock.
func NewKeys(source IdentitySource, clk clock.PassiveClock) *Keys {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Keys{source: source, clock: clk, keys: lru.New(keysKept)}
}

// SigningKey implements KeyResolver.
func (k *Keys) SigningKey(ctx context.Context, did string, fresh bool) (atcrypto.PublicKey, error) {
	known, done, err := k.remembered(did, fresh)
	if done {
		return known, err
	}
	// Detached: a caller that gives up doesn't spoil the lookup for the others.
	ch := k.flight.DoChan(did, func() (any, error) {
		key, err := k.fetch(context.WithoutCancel(ctx), did)
		k.remember(did, key, err)
		return key, err
	})
	select {
	case r := <-ch:
		if err = r.Err; err == nil {
			return r.Val.(atcrypto.PublicKey), nil
		}
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("signing key of %s: %w", did, err)
}

// remembered answers from the cache if it may. Else key is the one known so far.
func (k *Keys) remembered(did string, fresh bool) (key atcrypto.PublicKey, done bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.cached(did)
	if c == nil {
		return nil, false, nil
	}
	now := k.clock.Now()
	failedLately := now.Before(c.retryAt)
	if c.key == nil {
		if failedLately {
			return nil, true, fmt.Errorf("signing key of %s: %w", did, c.err)
		}
		return nil, false, nil
	}
	ttl := keyTTL
	if fresh {
		ttl = keyFreshEvery
	}
	return c.key, now.Sub(c.at) < ttl || failedLately, nil
}

// cached is what is known of an account's key; nil: nothing. mu is held.
func (k *Keys) cached(did string) *cachedKey {
	c, _ := k.keys.Get(did)
	known, _ := c.(*cachedKey)
	return known
}

func (k *Keys) remember(did string, key atcrypto.PublicKey, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.cached(did)
	if c == nil {
		c = &cachedKey{}
		k.keys.Add(did, c)
	}
	now := k.clock.Now()
	if err == nil {
		*c = cachedKey{key: key, at: now}
		return
	}
	c.err = err
	c.retryAt = now.Add(min(keyRetryFirst<<min(c.failures, 10), keyRetryMost))
	c.failures++
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
	return key, nil
}
