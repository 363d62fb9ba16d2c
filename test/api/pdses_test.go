package api

import (
	"fmt"
	"sync"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testpds"
)

// referenceAccounts is how many tests can use the reference PDS: each takes an
// account of its own.
const referenceAccounts = 28

var reference struct {
	once   sync.Once
	server *testpds.Server
	failed any

	mu   sync.Mutex
	next int
}

// onReference is a new account of the shared reference PDS.
func onReference(t *testing.T) *account {
	t.Helper()
	reference.once.Do(func() {
		defer func() { reference.failed = recover() }()
		var names []string
		for i := range referenceAccounts {
			names = append(names, fmt.Sprintf("user%d", i))
		}
		reference.server = testpds.StartReference(shared.tb, testpds.Options{Accounts: names})
	})
	if reference.server == nil {
		t.Fatalf("reference PDS: %v", reference.failed)
	}
	reference.mu.Lock()
	defer reference.mu.Unlock()
	if reference.next == referenceAccounts {
		t.Fatalf("raise referenceAccounts: more than %d tests use the reference PDS", referenceAccounts)
	}
	a := &account{Account: reference.server.Accounts[reference.next], pds: reference.server}
	reference.next++
	keepSecret(a.Password)
	a.login(t)
	return a
}

// onEmbedded is the account of an embedded PDS of the test's own.
func onEmbedded(t *testing.T) *account {
	t.Helper()
	return embedded(t, "alice")[0]
}

// embedded are the accounts of an embedded PDS of the test's own.
func embedded(t *testing.T, names ...string) []*account {
	t.Helper()
	s := testpds.StartDev(t, testpds.Options{Accounts: names})
	var out []*account
	for _, one := range s.Accounts {
		a := &account{Account: one, pds: s}
		keepSecret(a.Password)
		a.login(t)
		out = append(out, a)
	}
	return out
}

// onBoth runs a test on the embedded and on the reference PDS.
func onBoth(t *testing.T, f func(t *testing.T, a *account)) {
	t.Helper()
	t.Run("embedded PDS", func(t *testing.T) { f(t, onEmbedded(t)) })
	t.Run("reference PDS", func(t *testing.T) { f(t, onReference(t)) })
}
