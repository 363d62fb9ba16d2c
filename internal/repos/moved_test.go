package repos

import (
	"context"
	"testing"
	"time"

	"github.com/bluesky-social/indigo/atproto/identity"
	"github.com/bluesky-social/indigo/atproto/syntax"
	clocktesting "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// failing is a hub whose repositories all fail with err.
type failing struct {
	Hub
	err error
}

func (f *failing) RepoState(string, string) (repostore.RepoState, bool) {
	return repostore.RepoState{Err: f.err}, true
}

// directory knows one PDS for every account, and counts how often it was asked.
type directory struct {
	Identities
	pds   string
	asked int
}

func (d *directory) Resolve(_ context.Context, did string) (*identity.Identity, error) {
	d.asked++
	return &identity.Identity{
		DID:      syntax.DID(did),
		Services: map[string]identity.ServiceEndpoint{"atproto_pds": {Type: "AtprotoPersonalDataServer", URL: d.pds}},
	}, nil
}

// An account that moved to another PDS is followed once the old one fails: its
// DID document is read again, once in a while, and not while all is well.
func TestAccountThatMoved(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	hub, dir := &failing{}, &directory{pds: "https://old.example"}
	m := New(Config{Hub: hub, Identities: dir, Clock: clk, Budgets: atproto.NewBudgets(atproto.BudgetOptions{})})
	defer m.shutDown()
	k, obj := key{"ws", "a"}, named("ws", "a")
	obj.Spec.DID = "did:plc:alicealicealicealicealic"
	r := m.repoFor(k)
	look := func(wantPDS string, wantAsked int) {
		t.Helper()
		if err := m.resolveOnce(t.Context(), k, r, obj); err != nil {
			t.Fatal(err)
		}
		if r.conn.pds != wantPDS || dir.asked != wantAsked {
			t.Errorf("at %s after %d questions; want %s after %d", r.conn.pds, dir.asked, wantPDS, wantAsked)
		}
	}
	look("https://old.example", 1)
	dir.pds = "https://new.example"
	clk.Step(2 * resolveEvery)
	look("https://old.example", 1)
	hub.err = atproto.ErrRepoInactive
	look("https://new.example", 2)
	look("https://new.example", 2)
	clk.Step(2 * resolveEvery)
	obj.Spec.PDS = "https://new.example"
	look("https://new.example", 2)
}
