package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/repo"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/carproof"
)

// errUnverified: a commit is not what its account signed.
var errUnverified = errors.New("commit does not verify")

// verifiedBlocks are the blocks of a #commit message, once it is checked: the
// blocks match their CIDs, the commit is the message's, the record of each
// operation is at its place in the new tree, the operations turn the tree of
// prevData into it (MST inversion, https://atproto.com/specs/sync), and the
// account's key signed it. keys nil leaves the signature out.
func verifiedBlocks(ctx context.Context, keys atproto.KeyResolver, msg *comatproto.SyncSubscribeRepos_Commit) (*carproof.Blocks, error) {
	blocks, err := carproof.Read(bytes.NewReader(msg.Blocks))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnverified, err)
	}
	commit, err := blocks.Commit()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnverified, err)
	}
	if blocks.Root().String() != msg.Commit.String() {
		return nil, fmt.Errorf("%w: the blocks are of another commit", errUnverified)
	}
	// Before indigo loads the tree: a malformed one could grow without end there.
	if err := blocks.CheckPartial(commit.Data); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnverified, err)
	}
	if _, err := repo.VerifyCommitMessage(ctx, msg); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnverified, err)
	}
	if keys == nil {
		return blocks, nil
	}
	if err := atproto.VerifySignature(ctx, keys, msg.Repo, commit); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnverified, err)
	}
	return blocks, nil
}
