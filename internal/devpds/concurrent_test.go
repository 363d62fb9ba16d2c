package devpds

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/bluesky-social/indigo/atproto/syntax"
	"github.com/ipfs/go-cid"
)

// TestCounters lets many writers count one record up under its swap: none is
// lost, and a lost race is told.
func TestCounters(t *testing.T) {
	s, c := memory(t, Config{})
	c.put("n", object{"n": 0}).want(t, 200, "")
	const writers, each = 8, 50
	var group sync.WaitGroup
	for range writers {
		group.Add(1)
		go func() {
			defer group.Done()
			for done := 0; done < each; {
				r := c.read("n")
				n := r.body["value"].(object)["n"].(float64)
				w := c.put("n", object{"n": n + 1}, "swapRecord", r.text("cid"))
				switch {
				case w.status == 200 && w.body["commit"] != nil:
					done++
				case w.status != 200 && w.text("error") != "InvalidSwap":
					t.Errorf("put: %d %s", w.status, w.raw)
					return
				}
			}
		}()
	}
	group.Wait()
	if got := c.read("n").body["value"].(object)["n"].(float64); got != writers*each {
		t.Errorf("counted %v, want %d", got, writers*each)
	}
	verifyEvents(t, s, c.did)
}

// TestExportWhileWriting shows that every export, proof and list is of one state.
func TestExportWhileWriting(t *testing.T) {
	_, c := memory(t, Config{})
	for i := range 50 {
		c.put(fmt.Sprint("r", i), object{"n": 0}).want(t, 200, "")
	}
	ctx, stop := context.WithCancel(context.Background())
	var writer sync.WaitGroup
	writer.Add(1)
	go func() {
		defer writer.Done()
		for i := 0; ctx.Err() == nil; i++ { // keeps the number of records
			c.put(fmt.Sprint("r", i%50), object{"n": i})
			c.post("com.atproto.repo.applyWrites", object{"repo": c.did, "writes": []object{
				{"$type": applyWritesType + "delete", "collection": collection, "rkey": fmt.Sprint("r", i%50)},
				{"$type": applyWritesType + "create", "collection": collection, "rkey": fmt.Sprint("r", i%50), "value": object{"n": -i}},
			}})
		}
	}()
	for range 100 {
		r := c.get("com.atproto.sync.getRepo", "did", c.did).want(t, 200, "")
		_, loaded, err := repo.LoadRepoFromCAR(ctx, bytes.NewReader(r.raw))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = loaded.MST.Walk(func(key []byte, _ cid.Cid) error {
			n++
			_, _, err := loaded.GetRecordBytes(ctx, collection, syntax.RecordKey(bytes.TrimPrefix(key, []byte(collection+"/"))))
			return err
		})
		if err != nil || n != 50 || loaded.MST.IsPartial() {
			t.Fatalf("export of %d records, partial %t: %v", n, loaded.MST.IsPartial(), err)
		}
		list := c.get("com.atproto.repo.listRecords", "repo", c.did, "collection", collection, "limit", "100")
		if n := len(list.body["records"].([]any)); n != 50 {
			t.Fatalf("list of %d records", n)
		}
	}
	stop()
	writer.Wait()
}
