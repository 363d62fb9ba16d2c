package atproto

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestEachCallTakesItsTenantsTurn: also those that are made on the way to another, and
// the server's own are nobody's.
func TestEachCallTakesItsTenantsTurn(t *testing.T) {
	t.Parallel()
	f := newFakePDS(t)
	b, clk := emptied(BudgetOptions{Rate: 0.001, MaxWait: 24 * time.Hour})
	cfg := f.config(t)
	cfg.Budget, cfg.Clock, cfg.Tenant = b, clk, "shop"
	auth, err := NewPasswordAuth(cfg, Credentials{Identifier: testDID, Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	loggedIn, err := NewPasswordAuth(cfg, Credentials{Identifier: testDID, Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	loggedIn.access, loggedIn.refresh = "a", "r"
	identity, err := NewPDSIdentity(cfg)
	if err != nil {
		t.Fatal(err)
	}
	latest, err := LatestCommits(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Auth = staticAuth("token")
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const mine = "tenant shop"
	for name, tc := range map[string]struct {
		call func(context.Context) error
		flow string
		line line
	}{
		"getRecord": {func(ctx context.Context) error { _, err := c.GetRecord(ctx, testKey); return err }, mine, bulk},
		"proof":     {func(ctx context.Context) error { _, err := c.getProven(ctx, testKey); return err }, mine, bulk},
		"listRecords": {func(ctx context.Context) error {
			_, _, err := c.ListRecords(ctx, testKey.Collection, "", 1)
			return err
		}, mine, bulk},
		"export": {func(ctx context.Context) error { _, _, err := c.Export(ctx, nil); return err }, mine, bulk},
		"put": {func(ctx context.Context) error {
			_, err := c.PutRecord(ctx, testKey, testValue("a"), Swap{})
			return err
		}, mine, bulk},
		"delete":  {func(ctx context.Context) error { _, err := c.DeleteRecord(ctx, testKey, Swap{Any: true}); return err }, mine, bulk},
		"head":    {func(ctx context.Context) error { _, err := c.LatestCommit(ctx); return err }, mine, upkeep},
		"session": {c.CheckAuth, mine, upkeep},
		"login": {func(ctx context.Context) error {
			_, err := auth.rpc.createSession(ctx, auth.did, auth.creds)
			return err
		}, mine, upkeep},
		"refresh":  {func(ctx context.Context) error { _, err := auth.rpc.refreshSession(ctx, auth.did, "r"); return err }, mine, upkeep},
		"logout":   {loggedIn.Logout, mine, upkeep},
		"identity": {func(ctx context.Context) error { _, err := identity.Resolve(ctx, testDID); return err }, mine, upkeep},
		"poll":     {func(ctx context.Context) error { _, err := latest(ctx, testDID); return err }, "", upkeep},
		"own look": {func(ctx context.Context) error { _, err := c.LatestCommit(Housekeeping(ctx)); return err }, "", upkeep},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tc.call(ctx) }()
		waiting(t, b, clk, 1)
		b.mu.Lock()
		if q := b.turns.flows[tc.flow]; q == nil || len(q.lines[tc.line]) != 1 {
			t.Errorf("%s waits as %+v", name, b.turns.flows)
		}
		b.mu.Unlock()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
