package devpds

import (
	"fmt"
	"testing"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
)

// A repository that was emptied and is filled again has the one tree that its
// records make, whatever the heights of the keys that went and came.
func TestEmptiedRepository(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		dir := t.TempDir()
		s, c := onDisk(t, dir)
		for height := range 4 {
			high, low := keyOfHeight(height), keyOfHeight(0)
			c.put(high, object{"x": 1}).want(t, 200, "")
			c.remove(high).want(t, 200, "")
			if reopened {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s, c = onDisk(t, dir)
			}
			put := c.put(low, object{"x": 2}).want(t, 200, "")
			value, err := cid.Decode(put.text("cid"))
			if err != nil {
				t.Fatal(err)
			}
			tree, err := mst.LoadTreeFromMap(map[string]cid.Cid{pathOf(collection, low): value})
			if err != nil {
				t.Fatal(err)
			}
			want, err := tree.RootCID()
			if err != nil {
				t.Fatal(err)
			}
			if got := s.repository(c.did).cur.Load().data; got != *want {
				t.Errorf("after a key of height %d (reopened %v): tree %s, want %s", height, reopened, got, want)
			}
			c.remove(low).want(t, 200, "")
		}
	}
}

// onDisk opens a server on a directory.
func onDisk(t *testing.T, dir string) (*Server, *caller) {
	t.Helper()
	s := open(t, Config{Dir: dir, ListenAddr: "-", PublicURL: "http://pds.test"})
	return s, (&caller{t: t, h: s.Handler(), base: s.URL()}).login(s.Accounts()[0])
}

// keyOfHeight finds a record key whose place in the tree has the given height.
func keyOfHeight(height int) string {
	for i := 0; ; i++ {
		if rkey := fmt.Sprint("r", i); mst.HeightForKey([]byte(pathOf(collection, rkey))) == height {
			return rkey
		}
	}
}
