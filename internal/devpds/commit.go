package devpds

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// Limits of a commit, the reference PDS's.
const (
	maxWrites     = 200
	maxEventBytes = 2_000_000
)

// write is one requested write.
type write struct {
	// action is create, update or delete.
	action string
	path   string
	// cid and data are the new record's.
	cid  cid.Cid
	data []byte
	// blob is the CID of a blob that the record refers to, "" for none.
	blob string
	// swap is the condition on the record; nil: none. An undefined CID means that
	// there must be none.
	swap *cid.Cid
}

// commit makes a commit of the writes and publishes it; r.mu is held. A nil
// swapCommit is no condition. Nothing has changed when it returns an error.
func (s *Server) commit(ctx context.Context, r *repository, writes []write, swapCommit *cid.Cid) (*snapshot, error) {
	cur := r.cur.Load()
	if len(writes) > maxWrites {
		return nil, invalidRequest("Too many writes. Max: 200")
	}
	if swapCommit != nil && !swapCommit.Equals(cur.commit) {
		return nil, invalidSwap("Commit", cur.commit.String())
	}
	if err := checkSwaps(cur, writes); err != nil {
		return nil, err
	}
	ops, err := netOps(cur, writes)
	if err != nil {
		return nil, err
	}
	for _, w := range writes { // there are no blobs here to refer to
		if w.blob != "" {
			return nil, badRequest("BlobNotFound", "Could not find blob: %s", w.blob)
		}
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	next, err := s.build(ctx, r, cur, ops)
	if err != nil {
		r.tree = nil // half changed: read again
		return nil, err
	}
	return next, nil
}

// checkSwaps of the single writes, against the records as they are.
func checkSwaps(cur *snapshot, writes []write) error {
	for _, w := range writes {
		if w.swap == nil {
			continue
		}
		rec, exists := cur.record(w.path)
		if exists != w.swap.Defined() || exists && !rec.cid.Equals(*w.swap) {
			return invalidSwap("Record", cidText(rec.cid))
		}
	}
	return nil
}

// netOps is what the writes, one after the other, change in the end: one op a
// path, none that changes nothing. Creating what exists and changing or deleting
// what doesn't are the reference's internal errors.
func netOps(cur *snapshot, writes []write) ([]op, error) {
	var ops []op
	at := map[string]int{} // path → index in ops
	for _, w := range writes {
		i, ok := at[w.path]
		if !ok {
			i = len(ops)
			at[w.path] = i
			rec, _ := cur.record(w.path)
			ops = append(ops, op{path: w.path, prev: rec.cid, value: rec.cid})
		}
		if ops[i].value.Defined() == (w.action == "create") {
			return nil, internalError()
		}
		ops[i].value, ops[i].data = w.cid, w.data
	}
	kept := ops[:0]
	for _, o := range ops {
		if o.value != o.prev {
			kept = append(kept, o)
		}
	}
	return kept, nil
}

// build applies ops to the tree, and makes and publishes the next snapshot.
func (s *Server) build(ctx context.Context, r *repository, cur *snapshot, ops []op) (*snapshot, error) {
	for _, o := range ops {
		var value *cid.Cid
		if o.value.Defined() {
			value = &o.value
		}
		if _, err := repo.ApplyOp(r.tree, o.path, value); err != nil {
			return nil, fmt.Errorf("change MST: %w", err)
		}
		// indigo leaves an emptied tree with the height of its last key, and what is
		// put into it then lies below a root without keys: no canonical tree.
		if r.tree.IsEmpty() {
			*r.tree = mst.NewEmptyTree()
		}
	}
	dirty := dirtyNodes(r.tree.Root, nil)
	root, err := r.tree.RootCID()
	if err != nil {
		return nil, fmt.Errorf("encode MST: %w", err)
	}
	fresh := make(map[string][]byte, len(dirty))
	proof := make([]carBlock, 0, len(dirty)+len(ops)+1)
	for _, n := range dirty {
		nd := n.NodeData()
		data, c, err := nd.Bytes()
		if err != nil {
			return nil, fmt.Errorf("encode MST node: %w", err)
		}
		fresh[c.KeyString()] = data
		proof = append(proof, carBlock{*c, data})
	}
	if len(dirty) == 0 { // an empty commit still proves its tree's root
		proof = append(proof, carBlock{*root, cur.bytes(*root)})
	}
	added, removed, err := treeDiff(cur, *root, fresh)
	if err != nil {
		return nil, err
	}

	d := newDraft(cur, nextTID(s.clock.Now(), r.clockID, cur.rev))
	for _, c := range removed {
		d.drop(c)
	}
	for _, c := range added {
		d.put(c, fresh[c.KeyString()])
	}
	refs := d.records(ops, r.refs)
	commit, data, err := r.sign(*root, d.next.rev)
	if err != nil {
		return nil, err
	}
	if cur.commit.Defined() {
		d.drop(cur.commit)
	}
	d.put(commit, data)
	d.next.commit, d.next.data = commit, *root
	d.change.commit, d.change.rev = commit, d.next.rev

	blocks := append([]carBlock{{commit, data}}, proof...)
	for _, o := range ops {
		if o.value.Defined() {
			blocks = append(blocks, carBlock{o.value, o.data})
		}
	}
	if size := blockBytes(blocks); size > maxEventBytes {
		return nil, invalidRequest("Too many writes. Max event size: 2MB")
	}
	messages, err := s.commitMessages(cur, d.next, ops, blocks)
	if err != nil {
		return nil, err
	}
	err = s.publish(ctx, change{repo: &d.change}, messages, func() {
		for k, n := range refs {
			r.refs[k] += n
			if r.refs[k] == 0 {
				delete(r.refs, k)
			}
		}
		r.cur.Store(d.next)
	})
	if err != nil {
		return nil, err
	}
	return d.next, nil
}

// sign makes the commit object.
func (r *repository) sign(root cid.Cid, rev string) (cid.Cid, []byte, error) {
	c := repo.Commit{DID: r.did, Version: repo.ATPROTO_REPO_VERSION, Data: root, Rev: rev}
	if err := c.Sign(r.key); err != nil {
		return cid.Undef, nil, fmt.Errorf("sign commit: %w", err)
	}
	var buf bytes.Buffer
	if err := c.MarshalCBOR(&buf); err != nil {
		return cid.Undef, nil, fmt.Errorf("encode commit: %w", err)
	}
	id, err := hashBlock(buf.Bytes())
	return id, buf.Bytes(), err
}

// blockBytes is the blocks' total size.
func blockBytes(blocks []carBlock) int {
	n := 0
	for _, b := range blocks {
		n += len(b.data)
	}
	return n
}

// cidText is a CID for messages: "null" for none.
func cidText(c cid.Cid) string {
	if !c.Defined() {
		return "null"
	}
	return c.String()
}
