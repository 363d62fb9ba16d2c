package devpds

import (
	"bytes"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// dirtyNodes collects the nodes that the writes since the last RootCID changed,
// or marked as needed to prove them. It must be called before RootCID, which
// clears the marks; a clean node has no dirty nodes below.
func dirtyNodes(n *mst.Node, into []*mst.Node) []*mst.Node {
	if n == nil || !n.Dirty {
		return into
	}
	into = append(into, n)
	for i := range n.Entries {
		into = dirtyNodes(n.Entries[i].Child, into)
	}
	return into
}

// children of an encoded MST node.
func children(data []byte) ([]cid.Cid, error) {
	nd, err := mst.NodeDataFromCBOR(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode MST node: %w", err)
	}
	var out []cid.Cid
	if nd.Left != nil {
		out = append(out, *nd.Left)
	}
	for i := range nd.Entries {
		if nd.Entries[i].Right != nil {
			out = append(out, *nd.Entries[i].Right)
		}
	}
	return out, nil
}

// treeDiff compares the tree at the new root with the old one, whose nodes old
// has. fresh holds the new tree's nodes that may be new. added are nodes of the
// new tree alone, removed of the old tree alone.
//
// It relies on a node occurring at most once in a tree: the new tree is walked
// down to the nodes that the old one has too, the old tree down to those same
// nodes.
func treeDiff(old *snapshot, root cid.Cid, fresh map[string][]byte) (added, removed []cid.Cid, err error) {
	shared := map[string]bool{}
	var walkNew func(c cid.Cid) error
	walkNew = func(c cid.Cid) error {
		if old.has(c) {
			shared[c.KeyString()] = true
			return nil
		}
		data, ok := fresh[c.KeyString()]
		if !ok {
			return fmt.Errorf("MST node %s was not written", c)
		}
		added = append(added, c)
		kids, err := children(data)
		if err != nil {
			return err
		}
		for _, k := range kids {
			if err := walkNew(k); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walkNew(root); err != nil {
		return nil, nil, err
	}
	var walkOld func(c cid.Cid) error
	walkOld = func(c cid.Cid) error {
		if shared[c.KeyString()] {
			return nil
		}
		removed = append(removed, c)
		kids, err := children(old.bytes(c))
		if err != nil {
			return err
		}
		for _, k := range kids {
			if err := walkOld(k); err != nil {
				return err
			}
		}
		return nil
	}
	if old.data.Defined() {
		if err := walkOld(old.data); err != nil {
			return nil, nil, err
		}
	}
	return added, removed, nil
}
