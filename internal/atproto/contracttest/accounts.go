package contracttest

import (
	"net/http"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

var accountCases = []testCase{
	{"DeactivatedAccountIsInactiveNotEmpty", func(t *testing.T, e *env) {
		c, k := e.login(t, dora), key(t)
		mustPut(t, c, k, "A", absent)
		token := e.session(t, dora)
		if status := e.post(t, "com.atproto.server.deactivateAccount", token, map[string]any{}, nil); status != http.StatusOK {
			t.Fatalf("deactivateAccount: HTTP %d", status)
		}
		wantInactive(t, c, k)
		if status := e.post(t, "com.atproto.server.activateAccount", token, nil, nil); status != http.StatusOK {
			t.Fatalf("activateAccount: HTTP %d", status)
		}
		wantRecord(t, c, k, "A")
		mustPut(t, c, k, "B", atproto.Swap{CID: cidOf(t, "A")})
	}},
	{"TakenDownAccountIsInactiveNotEmpty", func(t *testing.T, e *env) {
		c, k := e.login(t, tom), key(t)
		mustPut(t, c, k, "A", absent)
		e.takedown(t, tom, true)
		wantInactive(t, c, k)
		e.takedown(t, tom, false)
		wantRecord(t, c, k, "A")
		mustPut(t, c, k, "B", atproto.Swap{CID: cidOf(t, "A")})
	}},
	// A record that the PDS's admin took down is hidden from reads by name, but it
	// is in the repository: its proof shows it, and its key can't be used again.
	{"TakenDownRecordIsHiddenNotDeleted", func(t *testing.T, e *env) {
		c, k := e.login(t, bob), key(t)
		put := mustPut(t, c, k, "A", absent)
		before := latest(t, c)
		e.takedownRecord(t, c, k, put.CID, true)
		_, err := c.GetRecord(t.Context(), k)
		wantErr(t, err, atproto.ErrRecordNotFound)
		rec, at, err := c.ProveRecord(t.Context(), k)
		if err != nil || rec == nil || rec.CID != put.CID || at != before {
			t.Errorf("proof of a record that was taken down: %+v at %v, %v", rec, at, err)
		}
		_, err = c.PutRecord(t.Context(), k, value("B"), absent)
		wantErr(t, err, atproto.ErrInvalidSwap)
		wantLatest(t, c, before)
		e.takedownRecord(t, c, k, put.CID, false)
		wantRecord(t, c, k, "A")
	}},
}

// takedownRecord takes a record down, or back up, as the PDS's admin.
func (e *env) takedownRecord(t *testing.T, c *atproto.Client, k atproto.Key, cid string, applied bool) {
	t.Helper()
	e.updateStatus(t, applied, map[string]any{
		"$type": "com.atproto.repo.strongRef", "uri": "at://" + c.DID() + "/" + k.Path(), "cid": cid,
	})
}

// takedown takes an account down, or back up, as the PDS's admin.
func (e *env) takedown(t *testing.T, name string, applied bool) {
	t.Helper()
	e.updateStatus(t, applied, map[string]any{
		"$type": "com.atproto.admin.defs#repoRef", "did": e.accounts[name].DID,
	})
}

func (e *env) updateStatus(t *testing.T, applied bool, subject map[string]any) {
	t.Helper()
	takedown := map[string]any{"applied": applied}
	if applied {
		takedown["ref"] = "contract"
	}
	status := e.post(t, "com.atproto.admin.updateSubjectStatus", adminAuth, map[string]any{"subject": subject, "takedown": takedown}, nil)
	if status != http.StatusOK {
		t.Fatalf("updateSubjectStatus: HTTP %d", status)
	}
}

// wantInactive checks that every call says so; none may look like an absence.
func wantInactive(t *testing.T, c *atproto.Client, k atproto.Key) {
	t.Helper()
	_, err := c.LatestCommit(t.Context())
	wantErr(t, err, atproto.ErrRepoInactive)
	_, err = c.GetRecord(t.Context(), k)
	wantErr(t, err, atproto.ErrRepoInactive)
	_, _, err = c.ListRecords(t.Context(), k.Collection, "", 10)
	wantErr(t, err, atproto.ErrRepoInactive)
	_, _, err = c.ProveRecord(t.Context(), k)
	wantErr(t, err, atproto.ErrRepoInactive)
	_, _, err = c.Export(t.Context(), []string{k.Collection})
	wantErr(t, err, atproto.ErrRepoInactive)
	_, err = c.PutRecord(t.Context(), k, value("X"), atproto.Swap{Any: true})
	wantErr(t, err, atproto.ErrRepoInactive)
}
