package contracttest

import (
	"context"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
)

// otherKey resolves every account to a key that never signed anything.
type otherKey struct{ t *testing.T }

// SigningKey implements atproto.KeyResolver.
func (o otherKey) SigningKey(context.Context, string, bool) (atcrypto.PublicKey, error) {
	k, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		o.t.Error(err)
		return nil, err
	}
	return k.PublicKey()
}
