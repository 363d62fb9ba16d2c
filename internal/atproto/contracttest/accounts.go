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
}

// takedown takes an account down, or back up, as the PDS's admin.
func (e *env) takedown(t *testing.T, name string, applied bool) {
	t.Helper()
	takedown := map[string]any{"applied": applied}
	if applied {
		takedown["ref"] = "contract"
	}
	status := e.post(t, "com.atproto.admin.updateSubjectStatus", adminAuth, map[string]any{
		"subject":  map[string]any{"$type": "com.atproto.admin.defs#repoRef", "did": e.accounts[name].DID},
		"takedown": takedown,
	}, nil)
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
