package repostore

import (
	"fmt"
	"testing"
)

// Of a workspace that went nothing is kept.
func TestNothingIsLeftOfAWorkspace(t *testing.T) {
	h := NewHub(HubConfig{Replica: "A"})
	for i := range 3 {
		ws := fmt.Sprint("w", i)
		m := MountedRepo{Workspace: ws, Name: "main", Repo: newMemRepo(testDID), Access: AccessRead}
		h.SetRepo(m)
		m.Access = AccessReadWrite
		h.SetRepo(m)
		h.RemoveRepo(ws, "main")
	}
	if len(h.mounts) != 0 || len(h.expected) != 0 || len(h.remounted.take()) != 0 {
		t.Errorf("%d workspaces, %v", len(h.mounts), h.remounted.workspaces)
	}
	// Who publishes is told.
	end := h.remounted.begin()
	h.remounted.add("w")
	if got := h.remounted.take(); len(got) != 1 || got[0] != "w" {
		t.Errorf("%q", got)
	}
	h.remounted.add("w")
	end()
	if got := h.remounted.take(); len(got) != 0 {
		t.Errorf("%q after the end", got)
	}
}
