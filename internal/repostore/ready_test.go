package repostore

import (
	"context"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// silentRepo is one whose PDS takes calls and doesn't answer.
func silentRepo(did string) *memRepo {
	r := newMemRepo(did)
	r.hook = func(ctx context.Context, _ string, _ atproto.Key) memFault {
		<-ctx.Done()
		return memFault{err: ctx.Err()}
	}
	return r
}

// A start waits for the first read of the repositories that are there. One that comes
// later makes no replica unready, however long its first read takes: all replicas begin
// it at once, and nobody would be left to serve the others.
func TestLaterRepositoryUnreadiesNobody(t *testing.T) {
	w := newWorld(t)
	silent := MountedRepo{Workspace: "two", Name: "silent", Repo: silentRepo("did:plc:silentsilentsilentsilen"), Access: AccessRead}

	late := w.live("A")
	eventually(t, "the replica to be ready", func() bool { return late.hub.Ready() == nil })
	late.hub.SetRepo(silent)
	if err := late.hub.Ready(); err != nil {
		t.Errorf("after a repository has come: %v", err)
	}

	early := w.prepareLive("B")
	early.hub.SetRepo(silent)
	early.hub.SetMountsLoaded()
	if err := early.hub.Ready(); err == nil {
		t.Error("at the start: ready before the repository was read")
	}
}
