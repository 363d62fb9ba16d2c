package controller

import (
	"fmt"
	"testing"

	"k8s.io/client-go/rest"
)

// TestClientsOfWorkspacesThatAreGone: one client serves a workspace as long as something
// is done there, and none is kept of those in which nothing is.
func TestClientsOfWorkspacesThatAreGone(t *testing.T) {
	t.Parallel()
	c, err := newClients(&rest.Config{Host: "https://127.0.0.1:1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := c.in("busy")
	if err != nil {
		t.Fatal(err)
	}
	for i := range clientsKept + 100 {
		if _, err := c.in(fmt.Sprint("ws-", i)); err != nil {
			t.Fatal(err)
		}
		if again, err := c.in("busy"); err != nil || again != busy {
			t.Fatalf("another client of a workspace in use: %v", err)
		}
	}
	if n := c.made.Len(); n != clientsKept {
		t.Errorf("%d clients are kept, want %d", n, clientsKept)
	}
}
