package carproof

import (
	"bytes"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// entry is a key of a node, its record, and the subtree to its right.
type entry struct {
	key   []byte
	value cid.Cid
	right *cid.Cid
}

// node is a decoded MST node whose keys are valid, rise strictly and are all of
// one height.
type node struct {
	left    *cid.Cid
	entries []entry
	height  int
}

// anyHeight is for a root, whose height its own keys say.
const anyHeight = -1

// load decodes the node c, whose height must be height unless that is anyHeight.
func (b *Blocks) load(c cid.Cid, height int) (*node, error) {
	data, err := b.Get(c)
	if err != nil {
		return nil, err
	}
	nd, err := mst.NodeDataFromCBOR(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: node %s: %w", ErrInvalid, c, err)
	}
	n := &node{left: nd.Left, height: height, entries: make([]entry, 0, len(nd.Entries))}
	var prev []byte
	for _, e := range nd.Entries {
		if e.PrefixLen < 0 || e.PrefixLen > int64(len(prev)) {
			return nil, fmt.Errorf("%w: node %s: prefix length", ErrInvalid, c)
		}
		key := append(bytes.Clone(prev[:e.PrefixLen]), e.KeySuffix...)
		if !validKey(key) || bytes.Compare(key, prev) <= 0 {
			return nil, fmt.Errorf("%w: node %s: key out of order", ErrInvalid, c)
		}
		h := mst.HeightForKey(key)
		if n.height == anyHeight {
			n.height = h
		}
		if h != n.height {
			return nil, fmt.Errorf("%w: node %s: key of height %d in a node of height %d", ErrInvalid, c, h, n.height)
		}
		n.entries = append(n.entries, entry{key: key, value: e.Value, right: e.Right})
		prev = key
	}
	if err := n.check(c, height == anyHeight); err != nil {
		return nil, err
	}
	return n, nil
}

// check is for the rules that concern the node as a whole: only an empty
// repository has a node without keys and children, a root has keys of its own,
// and nothing is below height 0.
func (n *node) check(c cid.Cid, root bool) error {
	if len(n.entries) == 0 {
		if (root && n.left == nil) || (!root && n.left != nil && n.height > 0) {
			return nil
		}
		return fmt.Errorf("%w: node %s: empty", ErrInvalid, c)
	}
	if n.height > 0 {
		return nil
	}
	children := n.left != nil
	for _, e := range n.entries {
		children = children || e.right != nil
	}
	if children {
		return fmt.Errorf("%w: node %s: children below height 0", ErrInvalid, c)
	}
	return nil
}

// child is the subtree in which key would be, nil where there is none. found is
// the key's record when the key is in this very node.
func (n *node) child(key []byte) (child, found *cid.Cid) {
	child = n.left
	for i := range n.entries {
		switch cmp := bytes.Compare(n.entries[i].key, key); {
		case cmp == 0:
			return nil, &n.entries[i].value
		case cmp > 0:
			return child, nil
		}
		child = n.entries[i].right
	}
	return child, nil
}

// validKey: "collection/rkey", both not empty.
func validKey(key []byte) bool {
	collection, rkey, ok := bytes.Cut(key, []byte("/"))
	return ok && mst.IsValidKey(key) && len(collection) > 0 && len(rkey) > 0 && !bytes.Contains(rkey, []byte("/"))
}
