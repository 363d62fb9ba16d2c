package contracttest

import (
	"fmt"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

var readCases = []testCase{
	{"GetMissingIsRecordNotFound", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		_, err := c.GetRecord(t.Context(), key(t))
		wantErr(t, err, atproto.ErrRecordNotFound)
		_, err = c.GetRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.neverWritten", RKey: "a"})
		wantErr(t, err, atproto.ErrRecordNotFound)
	}},
	{"UnknownAccountIsRepoNotFound", func(t *testing.T, e *env) {
		c, err := atproto.NewClient(e.config("did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.LatestCommit(t.Context())
		wantErr(t, err, atproto.ErrRepoNotFound)
		_, err = c.GetRecord(t.Context(), key(t))
		wantErr(t, err, atproto.ErrRepoNotFound)
		_, _, err = c.ListRecords(t.Context(), collection, "", 10)
		wantErr(t, err, atproto.ErrRepoNotFound)
		_, _, err = c.ProveRecord(t.Context(), key(t))
		wantErr(t, err, atproto.ErrRepoNotFound)
		_, _, err = c.Export(t.Context(), []string{collection})
		wantErr(t, err, atproto.ErrRepoNotFound)
	}},
	{"ReadsNeedNoToken", func(t *testing.T, e *env) {
		c, k := e.login(t, alice), key(t)
		mustPut(t, c, k, "A", absent)
		cfg := e.config(c.DID())
		cfg.Keys = c.Keys()
		anonymous, err := atproto.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		wantRecord(t, anonymous, k, "A")
		if got := latest(t, anonymous); got != latest(t, c) {
			t.Errorf("latest commit %v", got)
		}
		_, err = anonymous.PutRecord(t.Context(), k, value("B"), atproto.Swap{Any: true})
		wantErr(t, err, atproto.ErrUnauthorized)
	}},
	{"EmptyListHasNoCursor", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		records, cursor, err := c.ListRecords(t.Context(), "computer.socialweb.neverWritten", "", 10)
		if err != nil || len(records) != 0 || cursor != "" {
			t.Errorf("list of an empty collection: %v, cursor %q, %v", records, cursor, err)
		}
	}},
	{"PagingGivesEveryRecordOnceDescending", func(t *testing.T, e *env) {
		c := e.login(t, mary)
		const n = 130
		want := map[string]string{}
		for i := range n {
			k := atproto.Key{Collection: collection, RKey: fmt.Sprintf("p-%03d", i)}
			want[k.RKey] = mustPut(t, c, k, k.RKey, atproto.Swap{Any: true}).CID
		}
		for _, limit := range []int{0, 27} {
			walk(t, c, limit, want)
		}
		exported(t, c, want)
	}},
}

// walk lists the whole collection and compares.
func walk(t *testing.T, c *atproto.Client, limit int, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	last, cursor := "\xff", ""
	for pages := 0; ; pages++ {
		if pages > len(want) {
			t.Fatal("the walk doesn't end")
		}
		records, next, err := c.ListRecords(t.Context(), collection, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.RKey >= last {
				t.Errorf("%s after %s", r.RKey, last)
			}
			last = r.RKey
			got[r.RKey] = r.CID
		}
		if next == "" {
			break
		}
		cursor = next
	}
	for rkey, id := range want {
		if got[rkey] != id {
			t.Errorf("limit %d: %s has CID %q, want %s", limit, rkey, got[rkey], id)
		}
	}
	if len(got) != len(want) {
		t.Errorf("limit %d: %d records, want %d", limit, len(got), len(want))
	}
}

// exported compares an export with what was written.
func exported(t *testing.T, c *atproto.Client, want map[string]string) {
	t.Helper()
	before := latest(t, c)
	records, at, err := c.Export(t.Context(), []string{collection})
	if err != nil {
		t.Fatal(err)
	}
	if at != before {
		t.Errorf("export at %v, latest commit %v", at, before)
	}
	if len(records) != len(want) {
		t.Errorf("%d records exported, want %d", len(records), len(want))
	}
	for rkey, id := range want {
		rec := records[atproto.Key{Collection: collection, RKey: rkey}]
		if rec.CID != id || rec.Value["description"] != rkey {
			t.Errorf("exported %s: %+v, want CID %s", rkey, rec, id)
		}
	}
}
