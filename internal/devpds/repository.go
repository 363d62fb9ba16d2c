package devpds

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// repository is one account's repository. Readers load cur and go on without
// locks; a writer holds mu while it makes the next snapshot.
type repository struct {
	did     string
	key     *atcrypto.PrivateKeyK256
	clockID uint
	cur     atomic.Pointer[snapshot]

	mu sync.Mutex // guards what follows
	// tree is the MST of cur, whole in memory; nil: to be read from cur's blocks
	// (at the start, and after a write that failed half-way).
	tree *mst.Tree
	// refs counts the paths of each record CID, by KeyString.
	refs map[string]int
}

// newRepository continues from a snapshot.
func newRepository(a *account, s *snapshot, clockID uint) (*repository, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	r := &repository{did: a.DID, key: key, clockID: clockID}
	if s.commit.Defined() {
		var c repo.Commit
		if err := c.UnmarshalCBOR(bytes.NewReader(s.bytes(s.commit))); err != nil {
			return nil, fmt.Errorf("commit of %s: %w", a.DID, err)
		}
		s.data = c.Data
	}
	r.cur.Store(s)
	return r, nil
}

// load makes tree and refs ready; mu is held.
func (r *repository) load(ctx context.Context) error {
	if r.tree != nil {
		return nil
	}
	s := r.cur.Load()
	r.refs = map[string]int{}
	s.records.Ascend(func(rec record) bool {
		r.refs[rec.cid.KeyString()]++
		return true
	})
	if !s.data.Defined() {
		tree := mst.NewEmptyTree()
		r.tree = &tree
		return nil
	}
	tree, err := mst.LoadTreeFromStore(ctx, s, s.data)
	if err != nil {
		return fmt.Errorf("load MST of %s: %w", r.did, err)
	}
	if tree.IsPartial() {
		return fmt.Errorf("load MST of %s: nodes are missing", r.did)
	}
	r.tree = tree
	return nil
}

// op is the net effect of a commit on one path.
type op struct {
	path string
	// value is the record after, prev before; undefined: none.
	value, prev cid.Cid
	data        []byte
}

// action as the firehose names it.
func (o op) action() string {
	switch {
	case !o.value.Defined():
		return "delete"
	case !o.prev.Defined():
		return "create"
	default:
		return "update"
	}
}
