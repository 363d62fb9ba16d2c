package repostore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// inSync tells whether the running publisher has nothing left to write.
func (r *replica) inSync(name, phase string) bool {
	obj, st := r.shown(name)
	return obj != nil && obj.Status.Record != nil && obj.Status.Record.Direction == InSync && r.phaseIn(name) == phase &&
		obj.Status.Record.CID == r.repo.cidAt(recordKey(name), r.repo.head()) && st.CID == obj.Status.Record.CID
}

// Many status writes in a row are one put.
func TestPublisherCoalesces(t *testing.T) {
	const delay = 2 * time.Second
	w := newWorld(t)
	r := w.live("A", func(c *HubConfig) { c.PublishDelay = delay })
	begun := time.Now() // the creation is a change too
	if _, err := r.create(r.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	commits := w.repo.commits()
	const n = 30
	for i := range n {
		if err := r.setPhase(r.ctx(), "o", fmt.Sprint("Phase", i)); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begun)
	eventually(t, "the last status in the record", func() bool { return r.inSync("o", fmt.Sprint("Phase", n-1)) })
	// A machine too slow for the delay may see more puts, but never one a write.
	if got := w.repo.commits() - commits; got != 1 && (took < delay/2 || got >= n) {
		t.Errorf("%d puts for %d status writes in %s", got, n, took)
	}
}

// A status that is written while the PDS is away is accepted, and in the record
// soon after it is back.
func TestStatusDuringAnOutage(t *testing.T) {
	w := newWorld(t)
	r := w.live("A")
	for i := range 3 {
		if _, err := r.create(r.ctx(), aWidget(fmt.Sprint("o", i), "base")); err != nil {
			t.Fatal(err)
		}
	}
	w.repo.setDown(atproto.ErrUnavailable)
	for i := range 12 {
		if err := r.setPhase(r.ctx(), fmt.Sprint("o", i%3), fmt.Sprint("Phase", i)); err != nil {
			t.Fatalf("a status write during the outage: %v", err)
		}
	}
	eventually(t, "the publisher to try", func() bool { return w.repo.count("put") > 3 })
	commits := w.repo.commits()
	w.repo.setDown(nil)
	for i := range 3 {
		eventually(t, "the status to be published", func() bool { return r.inSync(fmt.Sprint("o", i), fmt.Sprint("Phase", 9+i)) })
	}
	if n := w.repo.commits() - commits; n != 3 {
		t.Errorf("%d puts after the outage for 3 objects", n)
	}
}

// Two deployments on one account replace each other's status for some rounds, and
// then rest, and say so.
func TestTwoDeploymentsDoNotFightForEver(t *testing.T) {
	one, two := newWorld(t), newWorld(t)
	two.repo = one.repo
	a, b := one.live("A"), two.live("B")
	if _, err := a.create(a.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second deployment to serve the record", func() bool { obj, _ := b.shown("o"); return obj != nil })
	if err := a.setPhase(a.ctx(), "o", "OfA"); err != nil {
		t.Fatal(err)
	}
	if err := b.setPhase(b.ctx(), "o", "OfB"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deployment to give up", func() bool {
		x, _ := a.shown("o")
		y, _ := b.shown("o")
		return meta.IsStatusConditionTrue(x.Status.Conditions, ConditionStatusContested) ||
			meta.IsStatusConditionTrue(y.Status.Conditions, ConditionStatusContested)
	})
	commits := -1
	eventually(t, "peace", func() bool {
		was := commits
		commits = one.repo.commits()
		time.Sleep(300 * time.Millisecond)
		return was == commits
	})
	if commits > 4*contestLimit {
		t.Errorf("%d commits until they rested", commits)
	}
	if x, _ := a.shown("o"); x.Status.Phase != "OfA" {
		t.Errorf("the fight changed the observed status of A to %q", x.Status.Phase)
	}
	// A changed status is published again.
	if err := a.setPhase(a.ctx(), "o", "NewOfA"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the changed status in the record", func() bool {
		for _, c := range one.repo.history() {
			status, _ := decodeRecord(c.bytes)["status"].(map[string]any)
			if status["phase"] == "NewOfA" {
				return true
			}
		}
		return false
	})
}

// One replica publishes; when it stops, another does.
func TestPublisherIsElected(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := w.prepareLive("A")
	a.hub.SetRepo(MountedRepo{Workspace: w.ws, Name: testRepo, Repo: w.repo, Source: a.src, Default: true, Access: AccessReadWrite})
	a.hub.SetMountsLoaded()
	stopped := make(chan error, 1)
	go func() { stopped <- a.hub.Run(ctx) }()
	if _, err := a.create(a.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "A to publish", func() bool { return a.inSync("o", "") })
	b := w.live("B")
	if err := b.setPhase(b.ctx(), "o", "One"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "A to publish what B was told", func() bool { return b.inSync("o", "One") })
	if puts := w.repo.count("put"); puts != 2 {
		t.Errorf("%d puts, want 2: the creation and one status", puts)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := b.setPhase(b.ctx(), "o", "Two"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "B to publish", func() bool { return b.inSync("o", "Two") })
}

// A publisher that is told to stop ends the put that it has begun, and leaves
// nothing behind that others have to wait for.
func TestPublisherEndsWhatItHasBegun(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := w.prepareLive("A")
	a.gates = newGates()
	a.hub.failpoint = a.gates.step
	a.hub.SetRepo(MountedRepo{Workspace: w.ws, Name: testRepo, Repo: w.repo, Source: a.src, Default: true, Access: AccessReadWrite})
	a.hub.SetMountsLoaded()
	stopped := make(chan error, 1)
	go func() { stopped <- a.hub.Run(ctx) }()
	if _, err := a.create(a.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "A to publish", func() bool { return a.inSync("o", "") })
	gate := a.gates.stop("update.before-intent")
	if err := a.setPhase(a.ctx(), "o", "One"); err != nil {
		t.Fatal(err)
	}
	gate.reached(t)
	cancel()
	gate.release()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if left := w.keysBelow("intents"); len(left) > 0 || !a.inSync("o", "One") {
		t.Errorf("stopped with the phase %q in the record, intents %v", a.phaseIn("o"), left)
	}
}
