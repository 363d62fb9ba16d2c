package carproof

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// Lookup finds the record at path in the tree with this root. nil: the tree
// proves that there is none. ErrMissingBlock: the CAR proves neither.
func (b *Blocks) Lookup(root cid.Cid, path string) (*cid.Cid, error) {
	key := []byte(path)
	if !validKey(key) {
		return nil, fmt.Errorf("%w: %q is no key", ErrInvalid, path)
	}
	want := mst.HeightForKey(key)
	for c, height := root, anyHeight; ; {
		n, err := b.load(c, height)
		if err != nil {
			return nil, fmt.Errorf("proof of %s: %w", path, err)
		}
		child, found := n.child(key)
		// Keys of the wanted height are in nodes of that height alone: below it
		// there is nothing to find.
		if found != nil || child == nil || n.height <= want {
			return found, nil
		}
		c, height = *child, n.height-1
	}
}

// Walk calls f for every record of the tree, in the order of the paths. It fails
// with ErrMissingBlock at the first node that is not in the CAR. A malformed tree
// can't make it run long: a node without keys has one child at most, heights
// fall, and the keys of the others must rise.
func (b *Blocks) Walk(root cid.Cid, f func(path string, record cid.Cid) error) error {
	w := walker{blocks: b, visit: f}
	return w.walk(root, anyHeight)
}

// CheckPartial checks what there is of the tree with this root, as the commit of
// an event holds it: only the nodes that changed.
func (b *Blocks) CheckPartial(root cid.Cid) error {
	w := walker{blocks: b, partial: true, visit: func(string, cid.Cid) error { return nil }}
	return w.walk(root, anyHeight)
}

type walker struct {
	blocks *Blocks
	visit  func(string, cid.Cid) error
	// partial skips nodes that are not there.
	partial bool
	last    []byte
}

func (w *walker) walk(c cid.Cid, height int) error {
	n, err := w.blocks.load(c, height)
	if w.partial && errors.Is(err, ErrMissingBlock) {
		return nil
	}
	if err != nil {
		return err
	}
	if n.left != nil {
		if err := w.walk(*n.left, n.height-1); err != nil {
			return err
		}
	}
	for _, e := range n.entries {
		// Strictly rising over the whole tree: a subtree that is referred to twice
		// fails at its first key.
		if bytes.Compare(e.key, w.last) <= 0 {
			return fmt.Errorf("%w: node %s: keys out of order", ErrInvalid, c)
		}
		w.last = e.key
		if err := w.visit(string(e.key), e.value); err != nil {
			return err
		}
		if e.right != nil {
			if err := w.walk(*e.right, n.height-1); err != nil {
				return err
			}
		}
	}
	return nil
}
