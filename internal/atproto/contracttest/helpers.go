package contracttest

import (
	"errors"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

func mustPut(t *testing.T, c *atproto.Client, k atproto.Key, description string, swap atproto.Swap) atproto.PutResult {
	t.Helper()
	put, err := c.PutRecord(t.Context(), k, value(description), swap)
	if err != nil {
		t.Fatalf("put %s with %+v: %v", description, swap, err)
	}
	return put
}

func latest(t *testing.T, c *atproto.Client) atproto.Commit {
	t.Helper()
	commit, err := c.LatestCommit(t.Context())
	if err != nil {
		t.Fatalf("latest commit: %v", err)
	}
	return commit
}

// wantLatest checks that nothing was committed since.
func wantLatest(t *testing.T, c *atproto.Client, want atproto.Commit) {
	t.Helper()
	if got := latest(t, c); got != want {
		t.Errorf("latest commit is %v, want %v", got, want)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func wantRecord(t *testing.T, c *atproto.Client, k atproto.Key, description string) {
	t.Helper()
	rec, err := c.GetRecord(t.Context(), k)
	if err != nil {
		t.Errorf("get: %v", err)
		return
	}
	if rec.CID != cidOf(t, description) || rec.Value["description"] != description {
		t.Errorf("the record is %+v, want %s", rec, description)
	}
}

func cidOf(t *testing.T, description string) string {
	t.Helper()
	id, err := recordcid.Of(value(description))
	if err != nil {
		t.Fatal(err)
	}
	return id
}
