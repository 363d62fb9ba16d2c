package carproof

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
)

// records makes n records whose keys are spread over several heights.
func records(n int) map[string]map[string]any {
	out := map[string]map[string]any{}
	for i := range n {
		out[fmt.Sprintf("a.b.c/r-%05d", i)] = map[string]any{"$type": "a.b.c", "n": int64(i)}
	}
	return out
}

func read(t testing.TB, b []byte) *Blocks {
	t.Helper()
	blocks, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func TestWalkVisitsEveryRecordInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 1000} {
		built := cartest.Repo{Records: records(n)}.Build(t)
		b := read(t, built.CAR(t, nil))
		commit, err := b.Commit()
		if err != nil || commit.Data != built.Data {
			t.Fatalf("commit: %+v, %v", commit, err)
		}
		var paths []string
		err = b.Walk(commit.Data, func(path string, c cid.Cid) error {
			if c != built.CIDs[path] {
				t.Errorf("%s: CID %s", path, c)
			}
			paths = append(paths, path)
			return nil
		})
		if err != nil || !slices.Equal(paths, slices.Sorted(maps.Keys(built.CIDs))) {
			t.Errorf("%d records: walked %d, %v", n, len(paths), err)
		}
	}
}

func TestLookupFindsAndProvesAbsence(t *testing.T) {
	built := cartest.Repo{Records: records(500)}.Build(t)
	b := read(t, built.CAR(t, nil))
	for path, want := range built.CIDs {
		if got, err := b.Lookup(built.Data, path); err != nil || got == nil || *got != want {
			t.Fatalf("%s: %v, %v", path, got, err)
		}
	}
	for i := range 500 {
		path := fmt.Sprintf("a.b.c/r-%05dx", i)
		if got, err := b.Lookup(built.Data, path); err != nil || got != nil {
			t.Fatalf("%s: %v, %v", path, got, err)
		}
	}
}

// With any one node missing a lookup finds the right record or says that the
// proof is incomplete; it never calls a present record absent.
func TestLookupWithMissingNodes(t *testing.T) {
	built := cartest.Repo{Records: records(60)}.Build(t)
	isNode := map[cid.Cid]bool{}
	for _, blk := range built.Blocks {
		isNode[blk.CID] = blk.CID != built.Root
	}
	for _, c := range built.CIDs {
		isNode[c] = false
	}
	for drop, node := range isNode {
		if !node {
			continue
		}
		b := read(t, built.CAR(t, func(blk cartest.Block) bool { return blk.CID != drop }))
		incomplete := 0
		for path, want := range built.CIDs {
			got, err := b.Lookup(built.Data, path)
			switch {
			case errors.Is(err, ErrMissingBlock):
				incomplete++
			case err != nil || got == nil || *got != want:
				t.Fatalf("%s: %v, %v", path, got, err)
			}
		}
		if incomplete == 0 {
			t.Errorf("without node %s nothing is missing", drop)
		}
		if err := b.Walk(built.Data, func(string, cid.Cid) error { return nil }); !errors.Is(err, ErrMissingBlock) {
			t.Errorf("walk without node %s: %v", drop, err)
		}
	}
}

func TestReadRefusesForgedAndBrokenCARs(t *testing.T) {
	built := cartest.Repo{Records: records(3)}.Build(t)
	good := built.CAR(t, nil)
	forged := *built
	forged.Blocks = slices.Clone(built.Blocks)
	forged.Blocks[1].Data = append(bytes.Clone(forged.Blocks[1].Data), 0)
	for name, b := range map[string][]byte{
		"empty": nil, "garbage": []byte("garbage"), "truncated": good[:len(good)-5], "forged": forged.CAR(t, nil),
	} {
		if _, err := Read(bytes.NewReader(b)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := read(t, built.CAR(t, func(blk cartest.Block) bool { return blk.CID != built.Root }))
	if _, err := b.Commit(); !errors.Is(err, ErrMissingBlock) {
		t.Errorf("no commit: %v", err)
	}
}

// tree is a hand-made malformed tree.
type tree struct {
	t      *testing.T
	blocks *Blocks
}

func (m tree) put(nd mst.NodeData) *cid.Cid {
	m.t.Helper()
	data, c, err := nd.Bytes()
	if err != nil {
		m.t.Fatal(err)
	}
	m.blocks.blocks[c.KeyString()] = data
	return c
}

// keyOf finds a key of this height with the prefix.
func keyOf(prefix string, height int) []byte {
	for i := 0; ; i++ {
		if k := []byte(fmt.Sprintf("a.b.c/%s%d", prefix, i)); mst.HeightForKey(k) == height {
			return k
		}
	}
}

func TestMalformedTreesAreRefused(t *testing.T) {
	m := tree{t, &Blocks{blocks: map[string][]byte{}}}
	v := cartest.Sum(t, []byte{0xa0})
	leaf := func(keys ...[]byte) *cid.Cid {
		nd := mst.NodeData{Entries: []mst.EntryData{}}
		for _, k := range keys {
			nd.Entries = append(nd.Entries, mst.EntryData{KeySuffix: k, Value: v})
		}
		return m.put(nd)
	}
	a0, b0, c0 := keyOf("a", 0), keyOf("b", 0), keyOf("c", 0)
	b1, b2 := keyOf("b", 1), keyOf("b", 2)
	empty := m.put(mst.NodeData{Entries: []mst.EntryData{}})
	deep := m.put(mst.NodeData{Left: empty, Entries: []mst.EntryData{}})
	for name, root := range map[string]*cid.Cid{
		"unordered":        leaf(b0, a0),
		"duplicate":        leaf(a0, a0),
		"mixed heights":    leaf(a0, b1),
		"no key":           leaf([]byte("nokey")),
		"long prefix":      m.put(mst.NodeData{Entries: []mst.EntryData{{PrefixLen: 3, KeySuffix: a0, Value: v}}}),
		"pointer only":     m.put(mst.NodeData{Left: leaf(a0), Entries: []mst.EntryData{}}),
		"empty below":      m.put(mst.NodeData{Left: empty, Entries: []mst.EntryData{{KeySuffix: b1, Value: v}}}),
		"empties below":    m.put(mst.NodeData{Left: deep, Entries: []mst.EntryData{{KeySuffix: b1, Value: v}}}),
		"child at 0":       m.put(mst.NodeData{Left: leaf(a0), Entries: []mst.EntryData{{KeySuffix: b0, Value: v}}}),
		"skipped height":   m.put(mst.NodeData{Left: leaf(a0), Entries: []mst.EntryData{{KeySuffix: b2, Value: v}}}),
		"left out of line": m.put(mst.NodeData{Left: leaf(c0), Entries: []mst.EntryData{{KeySuffix: b1, Value: v}}}),
		"same child twice": m.put(mst.NodeData{Left: leaf(a0), Entries: []mst.EntryData{{KeySuffix: b1, Value: v, Right: leaf(a0)}}}),
	} {
		err := m.blocks.Walk(*root, func(string, cid.Cid) error { return nil })
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.blocks.Lookup(*leaf(a0), "nokey"); !errors.Is(err, ErrInvalid) {
		t.Errorf("lookup of no key: %v", err)
	}
}
