package contracttest

import (
	"errors"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// absent is the swap "the record must not exist".
var absent = atproto.Swap{}

var writeCases = []testCase{
	{"PutNullCreates", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		before := latest(t, c)
		put := mustPut(t, c, k, "A", absent)
		if put.CID != cidOf(t, "A") {
			t.Errorf("the PDS computes CID %s, we %s", put.CID, cidOf(t, "A"))
		}
		if put.Commit == nil {
			t.Fatal("no commit in the answer to a write")
		}
		if after := latest(t, c); after != *put.Commit || after.Rev <= before.Rev {
			t.Errorf("latest commit %v after the put's %v, before %v", after, *put.Commit, before)
		}
	}},
	{"PutNullOnExistingIsInvalidSwap", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		mustPut(t, c, k, "A", absent)
		before := latest(t, c)
		_, err := c.PutRecord(t.Context(), k, value("B"), absent)
		wantErr(t, err, atproto.ErrInvalidSwap)
		wantRecord(t, c, k, "A")
		wantLatest(t, c, before)
	}},
	{"PutRightSwapReplaces", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		b := mustPut(t, c, k, "B", atproto.Swap{CID: a.CID})
		if b.Commit == nil || b.Commit.Rev <= a.Commit.Rev {
			t.Errorf("revs %v then %v", a.Commit, b.Commit)
		}
		wantRecord(t, c, k, "B")
	}},
	{"PutStaleSwapIsInvalidSwap", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		b := mustPut(t, c, k, "B", atproto.Swap{CID: a.CID})
		_, err := c.PutRecord(t.Context(), k, value("C"), atproto.Swap{CID: a.CID})
		wantErr(t, err, atproto.ErrInvalidSwap)
		if !strings.Contains(err.Error(), b.CID) {
			t.Errorf("the error doesn't say what the record is now: %v", err)
		}
		wantRecord(t, c, k, "B")
	}},
	{"PutSwapOnAbsentIsInvalidSwap", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		_, err := c.PutRecord(t.Context(), k, value("A"), atproto.Swap{CID: cidOf(t, "B")})
		wantErr(t, err, atproto.ErrInvalidSwap)
		_, err = c.GetRecord(t.Context(), k)
		wantErr(t, err, atproto.ErrRecordNotFound)
	}},
	{"PutAnyReplaces", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		mustPut(t, c, k, "A", atproto.Swap{Any: true})
		mustPut(t, c, k, "B", atproto.Swap{Any: true})
		wantRecord(t, c, k, "B")
	}},
	// "200 without commit" means "nothing was written", and the swap isn't checked.
	{"NoOpPutHasNoCommitAndNoSwapCheck", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		mustPut(t, c, k, "A", absent)
		before := latest(t, c)
		for _, swap := range []atproto.Swap{absent, {CID: cidOf(t, "other")}, {CID: cidOf(t, "A")}, {Any: true}} {
			put := mustPut(t, c, k, "A", swap)
			if put.Commit != nil || put.CID != cidOf(t, "A") {
				t.Errorf("no-op put with swap %+v: %+v", swap, put)
			}
		}
		wantLatest(t, c, before)
	}},
	// A swap proves that the content is equal, not that nothing happened.
	{"ABASwapSucceeds", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		b := mustPut(t, c, k, "B", atproto.Swap{CID: a.CID})
		again := mustPut(t, c, k, "A", atproto.Swap{CID: b.CID})
		if again.CID != a.CID || again.Commit == nil || again.Commit.Rev <= b.Commit.Rev {
			t.Errorf("A again: %+v after %+v", again, b)
		}
		mustPut(t, c, k, "C", atproto.Swap{CID: a.CID})
		wantRecord(t, c, k, "C")
	}},
	{"DeleteRightSwap", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		commit, err := c.DeleteRecord(t.Context(), k, atproto.Swap{CID: a.CID})
		if err != nil || commit == nil || commit.Rev <= a.Commit.Rev {
			t.Fatalf("delete: %v, %v", commit, err)
		}
		_, err = c.GetRecord(t.Context(), k)
		wantErr(t, err, atproto.ErrRecordNotFound)
		wantLatest(t, c, *commit)
	}},
	{"DeleteStaleSwapIsInvalidSwap", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		mustPut(t, c, k, "B", atproto.Swap{CID: a.CID})
		_, err := c.DeleteRecord(t.Context(), k, atproto.Swap{CID: a.CID})
		wantErr(t, err, atproto.ErrInvalidSwap)
		wantRecord(t, c, k, "B")
	}},
	{"DeleteAbsentHasNoCommit", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		before := latest(t, c)
		for _, swap := range []atproto.Swap{{Any: true}, {CID: cidOf(t, "A")}} {
			commit, err := c.DeleteRecord(t.Context(), k, swap)
			if err != nil || commit != nil {
				t.Errorf("delete of an absent record with %+v: %v, %v", swap, commit, err)
			}
		}
		wantLatest(t, c, before)
	}},
	{"RacingSwapsHaveOneWinner", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		a := mustPut(t, c, k, "A", absent)
		const writers = 8
		errs := make(chan error, writers)
		for i := range writers {
			go func() {
				_, err := c.PutRecord(t.Context(), k, value(strings.Repeat("B", i+1)), atproto.Swap{CID: a.CID})
				errs <- err
			}()
		}
		won := 0
		for range writers {
			switch err := <-errs; {
			case err == nil:
				won++
			case !errors.Is(err, atproto.ErrInvalidSwap):
				t.Errorf("loser's error: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d writers with the same swap won", won, writers)
		}
	}},
	{"UnknownFieldsAndNullsAreStoredAsGiven", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		v := value("A")
		v["other"] = map[string]any{"deep": []any{int64(9007199254740991), int64(-3), true, nil, "é\u2028<&>"}}
		want, err := recordcid.Of(v)
		if err != nil {
			t.Fatal(err)
		}
		put, err := c.PutRecord(t.Context(), k, v, absent)
		if err != nil || put.CID != want {
			t.Fatalf("put: %v, CID %s, want %s", err, put.CID, want)
		}
		rec, err := c.GetRecord(t.Context(), k)
		if err != nil || rec.CID != want || rec.Value == nil {
			t.Fatalf("get: %v, %+v", err, rec)
		}
	}},
	{"SwapIsHonoured", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		before := latest(t, c)
		if ok, err := atproto.ProbeSwap(t.Context(), c, collection); err != nil || !ok {
			t.Errorf("probe: %v, %v", ok, err)
		}
		wantLatest(t, c, before)
	}},
	{"TooLargeIsRefused", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		before := latest(t, c)
		_, err := c.PutRecord(t.Context(), k, value(strings.Repeat("x", 1_100_000)), absent)
		wantErr(t, err, atproto.ErrTooLarge)
		wantLatest(t, c, before)
	}},
	{"DNSNamesAreRecordKeys", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		for _, name := range []string{"a", "0", "a-b.c-d", "infra.example.com", strings.Repeat("x", 253)} {
			k := atproto.Key{Collection: collection, RKey: name}
			mustPut(t, c, k, "A", atproto.Swap{Any: true})
			wantRecord(t, c, k, "A")
		}
	}},
}
