package harness

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/testpds"
)

// Account is an account of the PDS, with a plain client that goes past the proxy.
type Account = testpds.Client

// Record is a record as the PDS tells it.
type Record = testpds.Record

// Account is one of Options.Accounts, by its name.
func (p *Plane) Account(t testing.TB, name string) *Account {
	t.Helper()
	a := p.accounts[name]
	if a == nil {
		t.Fatalf("no account %s: name it in Options.Accounts", name)
	}
	return a
}
