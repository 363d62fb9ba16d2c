// Package carproof reads repositories and proofs in CAR form: a signed commit,
// the nodes of a Merkle search tree (MST) and records
// (https://atproto.com/specs/repository). It reads what a host that we don't
// trust sent: every block is checked against its CID, and a tree is checked
// while it is walked, so that no malformed one costs more than its size.
package carproof

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/ipfs/go-cid"
	"github.com/ipld/go-car"
)

var (
	// ErrInvalid: the CAR, the commit or the tree is malformed.
	ErrInvalid = errors.New("invalid repository data")
	// ErrMissingBlock: a block that is needed is not in the CAR.
	ErrMissingBlock = errors.New("missing block")
)

// Blocks is the content of a CAR, every block checked against its CID.
type Blocks struct {
	root   cid.Cid
	blocks map[string][]byte
}

// Read reads a CAR (version 1) to its end. An error of r comes back as it is.
func Read(r io.Reader) (*Blocks, error) {
	cr, err := car.NewCarReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrInvalid, err)
	}
	b := &Blocks{root: cr.Header.Roots[0], blocks: map[string][]byte{}}
	for {
		// Next compares the hash of the block with its CID.
		blk, err := cr.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return b, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		b.blocks[blk.Cid().KeyString()] = blk.RawData()
	}
}

// Root is the CAR's first root: the commit.
func (b *Blocks) Root() cid.Cid { return b.root }

// Get is a block's bytes, or ErrMissingBlock.
func (b *Blocks) Get(c cid.Cid) ([]byte, error) {
	if data, ok := b.blocks[c.KeyString()]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrMissingBlock, c)
}

// Commit decodes the commit at the root. Its signature is not checked here.
func (b *Blocks) Commit() (*repo.Commit, error) {
	data, err := b.Get(b.root)
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	var c repo.Commit
	if err := c.UnmarshalCBOR(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("%w: commit: %w", ErrInvalid, err)
	}
	if err := c.VerifyStructure(); err != nil {
		return nil, fmt.Errorf("%w: commit: %w", ErrInvalid, err)
	}
	return &c, nil
}
