// Package cartest makes signed repositories in CAR form for tests.
package cartest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/bluesky-social/indigo/atproto/syntax"
	"github.com/ipfs/go-cid"
	cbor "github.com/ipfs/go-ipld-cbor"
	"github.com/ipld/go-car"
	carutil "github.com/ipld/go-car/util"
	"github.com/multiformats/go-multihash"
)

// Repo is a repository at one commit.
type Repo struct {
	// DID of the account; "" is "did:plc:test".
	DID string
	// Key signs the commit; nil: a new one.
	Key atcrypto.PrivateKey
	// Rev of the commit; "": some TID.
	Rev string
	// Records by path, in the data model.
	Records map[string]map[string]any
	// Raw are records by path whose bytes are given.
	Raw map[string][]byte
}

// Built is the repository's blocks.
type Built struct {
	// Root is the commit's CID, Data the tree's root.
	Root, Data cid.Cid
	// Public verifies the commit.
	Public atcrypto.PublicKey
	// CIDs of the records by path.
	CIDs map[string]cid.Cid
	// Blocks in the order in which CAR writes them: the commit first.
	Blocks []Block
}

// Block is one block of a CAR.
type Block struct {
	CID  cid.Cid
	Data []byte
}

// Build makes the blocks.
func (r Repo) Build(t testing.TB) *Built {
	t.Helper()
	if r.DID == "" {
		r.DID = "did:plc:test"
	}
	if r.Rev == "" {
		r.Rev = "3kabcdefghi22"
	}
	if r.Key == nil {
		k, err := atcrypto.GeneratePrivateKeyK256()
		must(t, err)
		r.Key = k
	}
	pub, err := r.Key.PublicKey()
	must(t, err)
	out := &Built{Public: pub, CIDs: map[string]cid.Cid{}}
	raw := map[string][]byte{}
	for path, v := range r.Records {
		b, err := atdata.MarshalCBOR(v)
		must(t, err)
		raw[path] = b
	}
	for path, b := range r.Raw {
		raw[path] = b
	}
	for path, b := range raw {
		out.CIDs[path] = Sum(t, b)
	}
	tree, err := mst.LoadTreeFromMap(out.CIDs)
	must(t, err)
	data, err := tree.RootCID() // computes the CID of every node
	must(t, err)
	out.Data = *data

	commit := repo.Commit{DID: r.DID, Version: repo.ATPROTO_REPO_VERSION, Data: *data, Rev: r.Rev}
	must(t, commit.Sign(r.Key))
	var buf bytes.Buffer
	must(t, commit.MarshalCBOR(&buf))
	out.Root = out.add(t, buf.Bytes())
	out.addNodes(t, tree.Root)
	for _, b := range raw {
		out.add(t, b)
	}
	return out
}

func (b *Built) addNodes(t testing.TB, n *mst.Node) {
	nd := n.NodeData()
	data, _, err := nd.Bytes()
	must(t, err)
	b.add(t, data)
	for _, e := range n.Entries {
		if e.Child != nil {
			b.addNodes(t, e.Child)
		}
	}
}

func (b *Built) add(t testing.TB, data []byte) cid.Cid {
	c := Sum(t, data)
	b.Blocks = append(b.Blocks, Block{CID: c, Data: data})
	return c
}

// CAR is the blocks that keep says (nil: all) as a CAR file.
func (b *Built) CAR(t testing.TB, keep func(Block) bool) []byte {
	t.Helper()
	var buf bytes.Buffer
	must(t, car.WriteHeader(&car.CarHeader{Roots: []cid.Cid{b.Root}, Version: 1}, &buf))
	for _, blk := range b.Blocks {
		if keep == nil || keep(blk) {
			must(t, carutil.LdWrite(&buf, blk.CID.Bytes(), blk.Data))
		}
	}
	return buf.Bytes()
}

// Sum is the CID of a dag-cbor block.
func Sum(t testing.TB, data []byte) cid.Cid {
	t.Helper()
	c, err := cid.NewPrefixV1(cid.DagCBOR, multihash.SHA2_256).Sum(data)
	must(t, err)
	return c
}

// Float is a record that is no atproto data: it holds a float.
func Float(t testing.TB) []byte {
	t.Helper()
	b, err := cbor.DumpObject(map[string]any{"$type": "a.b.c", "x": 1.5})
	must(t, err)
	return b
}

// TID makes the nth of a rising series of revs.
func TID(n int64) string { return syntax.NewTID(1_700_000_000_000_000+n, 0).String() }

// Path joins a collection and a record key.
func Path(parts ...string) string { return strings.Join(parts, "/") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
