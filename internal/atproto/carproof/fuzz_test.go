package carproof

import (
	"bytes"
	"testing"

	"github.com/ipfs/go-cid"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
)

// FuzzCAR: no CAR makes the reader or the walk panic or run long, and a lookup
// agrees with the walk.
func FuzzCAR(f *testing.F) {
	built := cartest.Repo{Records: records(20)}.Build(f)
	whole := built.CAR(f, nil)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(built.CAR(f, func(b cartest.Block) bool { return b.CID != built.Data }))
	f.Add(cartest.Repo{}.Build(f).CAR(f, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		blocks, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		commit, err := blocks.Commit()
		if err != nil {
			return
		}
		seen := map[string]cid.Cid{}
		err = blocks.Walk(commit.Data, func(path string, c cid.Cid) error {
			seen[path] = c
			return nil
		})
		for path, c := range seen {
			if got, err := blocks.Lookup(commit.Data, path); err != nil || got == nil || *got != c {
				t.Errorf("%s: %v, %v", path, got, err)
			}
		}
		if err == nil {
			if err := blocks.CheckPartial(commit.Data); err != nil {
				t.Errorf("a whole tree is no part of a tree: %v", err)
			}
		}
	})
}
