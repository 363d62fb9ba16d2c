package atproto_test

import (
	"context"
	"errors"
	"fmt"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A record is changed under the condition that it is what was read. Every other
// outcome has its sentinel.
func Example() {
	ctx := context.Background()
	budgets := atproto.NewBudgets(atproto.BudgetOptions{})
	repo, err := atproto.Login(ctx, "https://pds.example",
		atproto.Credentials{Identifier: "alice.example", Password: "app-password"},
		atproto.LoginOptions{Budget: budgets.For("https://pds.example")})
	if err != nil {
		return // for instance atproto.ErrUnauthorized, atproto.ErrUnavailable
	}
	key := atproto.Key{Collection: "computer.socialweb.infra", RKey: "a"}
	rec, err := repo.GetRecord(ctx, key)
	if err != nil {
		return // for instance atproto.ErrRecordNotFound
	}
	rec.Value["description"] = "changed"
	res, err := repo.PutRecord(ctx, key, rec.Value, atproto.Swap{CID: rec.CID})
	switch {
	case errors.Is(err, atproto.ErrInvalidSwap):
		fmt.Println("somebody else was faster: read again")
	case errors.Is(err, atproto.ErrUnknownOutcome):
		fmt.Println("it may have been written, now or later: look")
	case err == nil && res.Commit == nil:
		fmt.Println("it was like this already; the swap was not checked")
	}
}
