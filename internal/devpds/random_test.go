package devpds

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
	"github.com/ipld/go-car"
)

// TestRandomWrites makes thousands of random commits, verifies every event as
// indigo does (signature, records, inversion of the MST to prevData), follows
// the chain of revs, and compares the repository with a model.
func TestRandomWrites(t *testing.T) {
	commits := 5000
	if testing.Short() {
		commits = 500
	}
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s, c := memory(t, Config{})
			model := map[string]string{} // path → CID
			runRandom(t, c, rand.New(rand.NewPCG(seed, 0)), model, commits/2)
			verifyEvents(t, s, c.did)
			verifyExport(t, c, model)
		})
	}
}

// runRandom makes n random commits and keeps the model.
func runRandom(t *testing.T, c *caller, rnd *rand.Rand, model map[string]string, n int) {
	t.Helper()
	collections := []string{"computer.socialweb.infra", "computer.socialweb.ephemeralInfra", "a.b.c"}
	pick := func() (string, string) {
		return collections[rnd.IntN(len(collections))], fmt.Sprintf("r%d", rnd.IntN(200))
	}
	for range n {
		if rnd.IntN(4) == 0 {
			randomBatch(t, c, rnd, model, pick)
			continue
		}
		nsid, rkey := pick()
		path := pathOf(nsid, rkey)
		target := object{"repo": c.did, "collection": nsid, "rkey": rkey}
		if rnd.IntN(3) == 0 {
			c.post("com.atproto.repo.deleteRecord", target).want(t, 200, "")
			delete(model, path)
			continue
		}
		target["record"] = object{"n": rnd.IntN(50)}
		model[path] = c.post("com.atproto.repo.putRecord", target).want(t, 200, "").text("cid")
	}
}

// randomBatch makes one applyWrites.
func randomBatch(t *testing.T, c *caller, rnd *rand.Rand, model map[string]string, pick func() (string, string)) {
	t.Helper()
	var writes []object
	var paths []string
	for range rnd.IntN(8) {
		nsid, rkey := pick()
		path := pathOf(nsid, rkey)
		w := object{"collection": nsid, "rkey": rkey}
		_, exists := model[path]
		switch {
		case exists && rnd.IntN(2) == 0:
			w["$type"] = applyWritesType + "delete"
			delete(model, path)
		case exists:
			w["$type"], w["value"] = applyWritesType+"update", object{"n": rnd.IntN(50)}
		default:
			w["$type"], w["value"] = applyWritesType+"create", object{"n": rnd.IntN(50)}
			model[path] = "new"
		}
		writes, paths = append(writes, w), append(paths, path)
	}
	if writes == nil {
		writes = []object{}
	}
	r := c.post("com.atproto.repo.applyWrites", object{"repo": c.did, "writes": writes}).want(t, 200, "")
	for i, v := range r.body["results"].([]any) {
		if id, ok := v.(object)["cid"].(string); ok {
			if _, there := model[paths[i]]; there {
				model[paths[i]] = id
			}
		}
	}
}

// verifyEvents verifies every commit event of an account, from the first.
func verifyEvents(t *testing.T, s *Server, did string) {
	t.Helper()
	a := s.findAccount(did)
	key, err := a.key()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.log.after(0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var rev string
	var data cid.Cid
	count := 0
	for i, e := range events {
		if e.seq != uint64(i)+1 {
			t.Fatalf("event %d has seq %d", i, e.seq)
		}
		kind, body := splitFrame(t, e.frame)
		if kind != "#commit" {
			continue
		}
		var msg comatproto.SyncSubscribeRepos_Commit
		if err := msg.UnmarshalCBOR(bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		if msg.Repo != did {
			continue
		}
		verified, err := repo.VerifyCommitMessage(context.Background(), &msg)
		if err != nil {
			t.Fatalf("commit %s (%d ops): %v", msg.Rev, len(msg.Ops), err)
		}
		commit, commitCID, err := repo.LoadCommitFromCAR(context.Background(), bytes.NewReader(msg.Blocks))
		if err != nil {
			t.Fatal(err)
		}
		if err := commit.VerifySignature(pub); err != nil {
			t.Fatalf("commit %s: %v", msg.Rev, err)
		}
		if commitCID.String() != msg.Commit.String() {
			t.Fatalf("commit %s is named %s", commitCID, msg.Commit)
		}
		if rev != "" && (msg.Since == nil || *msg.Since != rev || msg.PrevData == nil || msg.PrevData.String() != data.String()) {
			t.Fatalf("commit %s does not follow %s", msg.Rev, rev)
		}
		if msg.Rev <= rev {
			t.Fatalf("rev %s after %s", msg.Rev, rev)
		}
		rev, data = msg.Rev, commit.Data
		if root, err := verified.MST.RootCID(); err != nil || *root != data {
			t.Fatalf("commit %s: root %v %v", msg.Rev, root, err)
		}
		count++
	}
	if got := s.repository(did).cur.Load().rev; got != rev || count == 0 {
		t.Fatalf("%d commits end at %s, repository is at %s", count, rev, got)
	}
}

// verifyExport compares getRepo, sync.getRecord and listRecords with the model.
func verifyExport(t *testing.T, c *caller, model map[string]string) {
	t.Helper()
	r := c.get("com.atproto.sync.getRepo", "did", c.did).want(t, 200, "")
	_, loaded, err := repo.LoadRepoFromCAR(context.Background(), bytes.NewReader(r.raw))
	if err != nil {
		t.Fatal(err)
	}
	if loaded.MST.IsPartial() {
		t.Fatal("the exported MST is partial")
	}
	if err := loaded.MST.Verify(); err != nil {
		t.Fatal(err)
	}
	got := map[string]cid.Cid{}
	if err := loaded.MST.WriteToMap(got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(model) {
		t.Fatalf("%d records exported, want %d", len(got), len(model))
	}
	if extra := strayBlocks(r.raw, loaded.MST); extra != 0 {
		t.Errorf("%d blocks exported that are not of this state", extra)
	}
	for path, id := range model {
		if got[path].String() != id {
			t.Fatalf("%s is %s, want %s", path, got[path], id)
		}
		if _, err := loaded.RecordStore.Get(context.Background(), got[path]); err != nil {
			t.Fatalf("record %s: %v", path, err)
		}
	}
}

// strayBlocks counts the blocks of a CAR that are neither commit, nor MST node,
// nor record.
func strayBlocks(raw []byte, tree mst.Tree) int {
	known := map[cid.Cid]bool{}
	var walk func(n *mst.Node)
	walk = func(n *mst.Node) {
		known[*n.CID] = true
		for _, e := range n.Entries {
			if e.IsValue() {
				known[*e.Value] = true
			}
			if e.Child != nil {
				walk(e.Child)
			}
		}
	}
	walk(tree.Root)
	r, err := car.NewCarReader(bytes.NewReader(raw))
	if err != nil {
		return -1
	}
	stray := -1 // the commit
	for {
		b, err := r.Next()
		if err != nil {
			return stray
		}
		if !known[b.Cid()] {
			stray++
		}
	}
}
