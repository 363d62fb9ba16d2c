package devpds

import (
	"context"
	"strings"

	blocks "github.com/ipfs/go-block-format"
	"github.com/ipfs/go-cid"
	ipld "github.com/ipfs/go-ipld-format"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// btreeDegree of the snapshots' trees.
const btreeDegree = 32

// block is a block of a repository with the rev of the commit that brought it.
type block struct {
	// key is the CID's KeyString.
	key  string
	rev  string
	data []byte
}

// record is one record of the index.
type record struct {
	// path is "collection/rkey".
	path string
	cid  cid.Cid
	// takedown hides the record from readers, not from writers.
	takedown bool
	// json is its value as JSON, filled in when first asked for.
	json *lazyJSON
}

// snapshot is one state of a repository. It is never changed once published, so
// readers need no lock; the trees of the next one share its nodes.
type snapshot struct {
	did string
	// commit is the CID of the commit block, data that of the MST root.
	commit, data cid.Cid
	rev          string
	// records by path.
	records *btree.BTree[record]
	// blocks by CID: the commit, the MST nodes and the records, nothing else.
	// Membership tells whether a node belongs to the current tree.
	blocks *btree.BTree[block]
}

// newSnapshot is a repository without commit.
func newSnapshot(did string) *snapshot {
	return &snapshot{
		did:     did,
		records: btree.New(btreeDegree, func(a, b record) bool { return a.path < b.path }),
		blocks:  btree.New(btreeDegree, func(a, b block) bool { return a.key < b.key }),
	}
}

// fork is a copy to write to. Only the writer calls it.
func (s *snapshot) fork() *snapshot {
	next := *s
	next.records, next.blocks = s.records.Clone(), s.blocks.Clone()
	return &next
}

// record at a path.
func (s *snapshot) record(path string) (record, bool) {
	return s.records.Get(record{path: path})
}

// visible is a record that readers see.
func (s *snapshot) visible(path string) (record, bool) {
	r, ok := s.record(path)
	return r, ok && !r.takedown
}

// bytes of a block, nil if it isn't there.
func (s *snapshot) bytes(c cid.Cid) []byte {
	b, _ := s.blocks.Get(block{key: c.KeyString()})
	return b.data
}

// has tells whether the block is there.
func (s *snapshot) has(c cid.Cid) bool { return s.blocks.Has(block{key: c.KeyString()}) }

// Get implements mst.MSTBlockSource.
func (s *snapshot) Get(_ context.Context, c cid.Cid) (blocks.Block, error) {
	b := s.bytes(c)
	if b == nil {
		return nil, ipld.ErrNotFound{Cid: c}
	}
	return blocks.NewBlockWithCid(b, c)
}

// list calls f for the records of a collection that readers see, in rkey order
// (bytewise), until it returns false. It begins after cursor unless that is "".
func (s *snapshot) list(collection, cursor string, ascending bool, f func(record) bool) {
	prefix := collection + "/"
	visit := func(r record) bool {
		if !strings.HasPrefix(r.path, prefix) {
			return false
		}
		if r.takedown || (cursor != "" && r.path == prefix+cursor) {
			return true
		}
		return f(r)
	}
	switch {
	case ascending:
		s.records.AscendGreaterOrEqual(record{path: prefix + cursor}, visit)
	case cursor != "":
		s.records.DescendLessOrEqual(record{path: prefix + cursor}, visit)
	default: // '0' follows '/'
		s.records.DescendLessOrEqual(record{path: collection + "0"}, func(r record) bool {
			if r.path == collection+"0" {
				return true
			}
			return visit(r)
		})
	}
}

// collections that have records, ascending.
func (s *snapshot) collections() []string {
	var names []string
	s.records.Ascend(func(r record) bool {
		name, _, _ := strings.Cut(r.path, "/")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		return true
	})
	return names
}
