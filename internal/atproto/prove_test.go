package atproto

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
)

func TestProofsAreVerified(t *testing.T) {
	p := newRepoPDS(t, one("A"))
	c := p.client(t)
	rec, at, err := c.ProveRecord(t.Context(), testKey)
	if err != nil || rec.Value["description"] != "A" || at.CID != p.built.Root.String() || at.Rev != "3kabcdefghi22" {
		t.Fatalf("%+v at %v, %v", rec, at, err)
	}
	if rec, _, err := c.ProveRecord(t.Context(), Key{testKey.Collection, "b"}); err != nil || rec != nil {
		t.Errorf("absence: %+v, %v", rec, err)
	}
	other := one("A")
	other.DID = "did:plc:other"
	without := func(drop string) []byte {
		return p.built.CAR(t, func(b cartest.Block) bool { return b.CID.String() != drop })
	}
	for name, b := range map[string][]byte{
		"other key":     one("A").Build(t).CAR(t, nil),
		"other account": other.Build(t).CAR(t, nil),
		"no commit":     without(p.built.Root.String()),
		"no tree":       without(p.built.Data.String()),
		"no record":     without(rec.CID),
		"cut":           p.built.CAR(t, nil)[:100],
		"empty":         {},
	} {
		p.sayCAR(proveMethod, b)
		if rec, _, err := c.ProveRecord(t.Context(), testKey); !errors.Is(err, ErrBadData) || rec != nil {
			t.Errorf("%s: %+v, %v", name, rec, err)
		}
	}
}

// The reference PDS reads without a snapshot while it writes: an incomplete
// answer is asked for again.
func TestIncompleteCARsAreFetchedAgain(t *testing.T) {
	p := newRepoPDS(t, one("A"))
	c := p.client(t)
	whole := p.built.CAR(t, nil)
	cut := p.built.CAR(t, func(b cartest.Block) bool { return b.CID != p.built.Data })
	for _, method := range []string{proveMethod, exportMethod} {
		p.on(method, func(w http.ResponseWriter, _ *http.Request) {
			if p.count(method) < 3 {
				_, _ = w.Write(cut)
				return
			}
			_, _ = w.Write(whole)
		})
	}
	if rec, _, err := c.ProveRecord(t.Context(), testKey); err != nil || rec == nil {
		t.Errorf("prove: %+v, %v", rec, err)
	}
	if all, _, err := c.Export(t.Context(), []string{testKey.Collection}); err != nil || len(all) != 1 {
		t.Errorf("export: %+v, %v", all, err)
	}
	p.sayCAR(exportMethod, cut)
	if _, _, err := c.Export(t.Context(), []string{testKey.Collection}); !errors.Is(err, ErrIncomplete) {
		t.Errorf("never whole: %v", err)
	}
	if n := p.count(exportMethod); n != 3+carAttempts {
		t.Errorf("%d exports", n)
	}
}

func TestExportTakesItsCollectionsAlone(t *testing.T) {
	r := cartest.Repo{Records: map[string]map[string]any{}}
	for i := range 50 {
		for _, collection := range []string{"a.b.one", "a.b.two", "a.b.oneandmore"} {
			r.Records[fmt.Sprintf("%s/r%d", collection, i)] = map[string]any{"$type": collection, "n": int64(i)}
		}
	}
	p := newRepoPDS(t, r)
	all, at, err := p.client(t).Export(t.Context(), []string{"a.b.one", "a.b.none"})
	if err != nil || len(all) != 50 || at.CID != p.built.Root.String() {
		t.Fatalf("%d records at %v, %v", len(all), at, err)
	}
	for k, rec := range all {
		if k.Collection != "a.b.one" || rec.Value["$type"] != "a.b.one" || rec.CID != p.built.CIDs[k.Path()].String() {
			t.Errorf("%v: %+v", k, rec)
		}
	}
	c := p.fakePDS.client(t, func(cfg *Config) { cfg.Keys, cfg.MaxExportBytes = oneKey{p.built.Public}, 1000 })
	if _, _, err := c.Export(t.Context(), []string{"a.b.one"}); !errors.Is(err, ErrBadData) {
		t.Errorf("over the size limit: %v", err)
	}
}
