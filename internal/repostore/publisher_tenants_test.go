package repostore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A workspace whose PDS hangs, with more objects than the publisher has workers,
// keeps no status of another workspace from being published.
func TestHangingPDSOfAnotherWorkspace(t *testing.T) {
	w := newWorld(t)
	r := w.live("A", func(c *HubConfig) { c.PutTimeout, c.IntentTerm = time.Hour, 2*time.Hour })
	other := newMemRepo("did:plc:malorymalorymalorymalory")
	hung := make(chan struct{})
	defer close(hung)
	var hang atomic.Bool
	var hanging atomic.Int64
	other.hook = func(_ context.Context, call string, _ atproto.Key) memFault {
		if call == "put" && hang.Load() {
			hanging.Add(1)
			<-hung
		}
		return memFault{}
	}
	r.hub.SetRepo(MountedRepo{Workspace: "other", Name: testRepo, Repo: other, Default: true, Access: AccessReadWrite})
	ctx := WithWorkspace(t.Context(), "other")
	for i := range 12 {
		o := aWidget(fmt.Sprint("o", i), "x")
		o.Status.Phase = "Held"
		if err := r.store.Create(ctx, fmt.Sprint(testPrefix, "/other/", o.Name), o, &widget{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	hang.Store(true)
	for i := range 12 {
		other.foreign(recordKey(fmt.Sprint("o", i)), widgetRecord("edited, its status dropped"))
	}
	eventually(t, "the hanging puts", func() bool {
		if err := r.hub.mountNamed("other", testRepo).barrier(ctx); err != nil {
			t.Fatal(err)
		}
		return hanging.Load() >= 4
	})
	if _, err := r.create(r.ctx(), aWidget("mine", "x")); err != nil {
		t.Fatal(err)
	}
	if err := r.setPhase(r.ctx(), "mine", "Held"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other tenant's status in its record", func() bool { return r.inSync("mine", "Held") })
}
