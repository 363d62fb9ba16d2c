package atproto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"socialweb.computer/infra-apiserver/internal/atproto/carproof"
)

const (
	// maxProofBytes bounds the proof of one record: a commit, a path of nodes, a
	// record.
	maxProofBytes = 16 << 20
	// carAttempts is how often a proof or an export that lacks blocks is fetched:
	// the reference PDS reads without a snapshot while it writes.
	carAttempts = 4
)

// ProveRecord implements Repo.
func (c *Client) ProveRecord(ctx context.Context, key Key) (*Record, Commit, error) {
	if err := checkKey(key); err != nil {
		return nil, Commit{}, err
	}
	params := url.Values{"did": {c.cfg.DID}, "collection": {key.Collection}, "rkey": {key.RKey}}
	var rec *Record
	var at Commit
	err := c.fetchCAR(ctx, &call{method: "com.atproto.sync.getRecord", params: params, did: c.cfg.DID, limit: maxProofBytes},
		func(b *carproof.Blocks) (err error) {
			rec, at, err = c.prove(ctx, b, key)
			return err
		})
	if err != nil {
		if errors.Is(err, ErrIncomplete) {
			err = fmt.Errorf("%w: %w", ErrBadData, err)
		}
		return nil, Commit{}, fmt.Errorf("prove %s: %w", key.Path(), err)
	}
	return rec, at, nil
}

func (c *Client) prove(ctx context.Context, b *carproof.Blocks, key Key) (*Record, Commit, error) {
	commit, at, err := c.verifiedCommit(ctx, b)
	if err != nil {
		return nil, Commit{}, err
	}
	id, err := b.Lookup(commit.Data, key.Path())
	if err != nil {
		return nil, Commit{}, badData(err)
	}
	if id == nil {
		return nil, at, nil
	}
	rec, err := record(b, *id)
	if err != nil {
		return nil, Commit{}, badData(err)
	}
	return rec, at, nil
}

// fetchCAR fetches a CAR and hands it to use, again while it is incomplete.
func (c *Client) fetchCAR(ctx context.Context, cl *call, use func(*carproof.Blocks) error) error {
	for attempt := 1; ; attempt++ {
		var blocks *carproof.Blocks
		cl.consume = func(r io.Reader) (err error) {
			if blocks, err = carproof.Read(r); err != nil {
				err = badData(err)
			}
			return err
		}
		err := c.rpc.call(ctx, cl)
		if errors.Is(err, errNotLocated) {
			if why := c.explain(ctx); why != nil {
				return why
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if err == nil {
			err = use(blocks)
		}
		if !errors.Is(err, ErrIncomplete) || attempt >= carAttempts {
			return err
		}
		if sleep(ctx, c.rpc.clock, readBackoff(attempt)) != nil {
			return err
		}
	}
}
