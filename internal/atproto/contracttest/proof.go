package contracttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

var proofCases = []testCase{
	{"ProofOfPresence", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		put := mustPut(t, c, k, "A", absent)
		rec, at, err := c.ProveRecord(t.Context(), k)
		if err != nil || rec == nil {
			t.Fatalf("prove: %v, %v", rec, err)
		}
		if rec.CID != put.CID || rec.Value["description"] != "A" || at != *put.Commit {
			t.Errorf("proven %+v at %v, want %s at %v", rec, at, put.CID, put.Commit)
		}
	}},
	{"ProofOfAbsence", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		for i := range 5 {
			mustPut(t, c, key(t, fmt.Sprint(i)), "A", absent)
		}
		for _, rkey := range []string{k.RKey, "never-1", "zzzz", "-"} {
			rec, at, err := c.ProveRecord(t.Context(), atproto.Key{Collection: collection, RKey: rkey})
			if err != nil || rec != nil || at != latest(t, c) {
				t.Errorf("prove %s: %v at %v, %v", rkey, rec, at, err)
			}
		}
		rec, _, err := c.ProveRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.neverWritten", RKey: "a"})
		if err != nil || rec != nil {
			t.Errorf("prove in another collection: %v, %v", rec, err)
		}
	}},
	{"ProofOfAbsenceInEmptyRepo", func(t *testing.T, e *env) {
		c := e.login(t, bob)
		rec, at, err := c.ProveRecord(t.Context(), key(t))
		if err != nil || rec != nil || at != latest(t, c) {
			t.Errorf("prove: %v at %v, %v", rec, at, err)
		}
		records, at, err := c.Export(t.Context(), []string{collection})
		if err != nil || len(records) != 0 || at != latest(t, c) {
			t.Errorf("export: %v at %v, %v", records, at, err)
		}
	}},
	{"ForeignKeyDoesNotVerify", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		mustPut(t, c, k, "A", absent)
		cfg := e.config(c.DID())
		cfg.Keys = otherKey{t}
		wrong, err := atproto.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = wrong.ProveRecord(t.Context(), k)
		wantErr(t, err, atproto.ErrBadData)
		_, _, err = wrong.Export(t.Context(), []string{collection})
		wantErr(t, err, atproto.ErrBadData)
	}},
	// The reference PDS reads without a snapshot: proofs and exports during
	// writes are whole, or an error says that they are not.
	{"ReadsDuringWritesAreWholeOrFail", func(t *testing.T, e *env) {
		c, reader := e.login(t, alice), e.login(t, alice)
		const n = 60
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range n {
				if _, err := c.PutRecord(t.Context(), key(t, fmt.Sprintf("w%02d", i)), value(fmt.Sprint(i)), absent); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
		seen := 0
		for range 12 {
			records, _, err := reader.Export(t.Context(), []string{collection})
			if errors.Is(err, atproto.ErrIncomplete) {
				continue
			}
			if err != nil {
				t.Errorf("export: %v", err)
				continue
			}
			count := 0
			for i := range n {
				rec, ok := records[key(t, fmt.Sprintf("w%02d", i))]
				if !ok {
					break
				}
				if rec.Value["description"] != fmt.Sprint(i) {
					t.Errorf("record %d is %+v", i, rec)
				}
				count++
			}
			if count < seen {
				t.Errorf("an export shows %d writes after one that showed %d", count, seen)
			}
			seen = count
		}
		wg.Wait()
		rec, _, err := reader.ProveRecord(t.Context(), key(t, fmt.Sprintf("w%02d", n-1)))
		if err != nil || rec == nil {
			t.Errorf("prove the last write: %v, %v", rec, err)
		}
	}},
}
