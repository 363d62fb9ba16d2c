package atproto

import (
	"context"
	"errors"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/ipfs/go-cid"

	"socialweb.computer/infra-apiserver/internal/atproto/carproof"
)

// VerifySignature checks that commit is did's and signed by its key. When the
// signature fails, the key is looked up once more: it may have been rotated.
// ErrBadData: it is not; anything else: the key could not be had.
func VerifySignature(ctx context.Context, keys KeyResolver, did string, commit *repo.Commit) error {
	if commit.DID != did {
		return fmt.Errorf("%w: the commit is of %q, not of %s", ErrBadData, clip(commit.DID), did)
	}
	var err error
	for _, fresh := range []bool{false, true} {
		key, kerr := keys.SigningKey(ctx, did, fresh)
		if kerr != nil {
			return kerr
		}
		if err = commit.VerifySignature(key); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: signature of commit %s of %s: %w", ErrBadData, commit.Rev, did, err)
}

// verifiedCommit checks the commit at the root of a CAR.
func (c *Client) verifiedCommit(ctx context.Context, b *carproof.Blocks) (*repo.Commit, Commit, error) {
	commit, err := b.Commit()
	if err != nil {
		return nil, Commit{}, badData(err)
	}
	if err := VerifySignature(ctx, c.cfg.Keys, c.cfg.DID, commit); err != nil {
		return nil, Commit{}, err
	}
	return commit, Commit{CID: b.Root().String(), Rev: commit.Rev}, nil
}

// badData gives a carproof error its sentinel: blocks are missing when a PDS
// writes while it reads, which is worth another try.
func badData(err error) error {
	if errors.Is(err, carproof.ErrMissingBlock) {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return fmt.Errorf("%w: %w", ErrBadData, err)
}

// record decodes the record block id; its error is carproof's.
func record(b *carproof.Blocks, id cid.Cid) (*Record, error) {
	data, err := b.Get(id)
	if err != nil {
		return nil, err
	}
	return decodeBlock(id.String(), data), nil
}

// decodeBlock decodes a record's bytes. They are kept without a value where they
// are no atproto data: see Record.Value.
func decodeBlock(id string, data []byte) *Record {
	if shallowCBOR.Wellformed(data) != nil {
		return &Record{CID: id}
	}
	value, err := atdata.UnmarshalCBOR(data)
	if err != nil {
		return &Record{CID: id}
	}
	return &Record{CID: id, Value: value}
}
