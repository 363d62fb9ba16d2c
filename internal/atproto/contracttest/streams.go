package contracttest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

var streamCases = []testCase{
	{"FirehoseDeliversCommitsInOrder", func(t *testing.T, e *env) {
		c, b := e.login(t, alice), e.login(t, bob)
		_, rec, _ := e.listening(t, c, c.Keys())
		before := latest(t, c)
		k := key(t)
		create := mustPut(t, c, k, "A", absent)
		mustPut(t, b, k, "A", atproto.Swap{Any: true}) // another account's: not ours to hear
		if again := mustPut(t, c, k, "A", atproto.Swap{Any: true}); again.Commit != nil {
			t.Fatal("a no-op put made a commit")
		}
		update := mustPut(t, c, k, "B", atproto.Swap{CID: create.CID})
		foreign, err := c.PutRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.other", RKey: "a"}, map[string]any{"$type": "computer.socialweb.other", "at": time.Now().String()}, atproto.Swap{Any: true})
		if err != nil {
			t.Fatal(err)
		}
		del, err := c.DeleteRecord(t.Context(), k, atproto.Swap{CID: update.CID})
		if err != nil {
			t.Fatal(err)
		}
		rec.waitRev(t, del.Rev)
		op := func(action, cid string) []events.Op {
			return []events.Op{{Action: action, Collection: k.Collection, RKey: k.RKey, CID: cid}}
		}
		wantCommits(t, rec, before.Rev, []events.Event{
			{Rev: create.Commit.Rev, Ops: op("create", create.CID)},
			{Rev: update.Commit.Rev, Ops: op("update", update.CID)},
			{Rev: foreign.Commit.Rev},
			{Rev: del.Rev, Ops: op("delete", "")},
		})
	}},
	{"FirehoseBackfillsFromTheCursor", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		f, _, stop := e.listening(t, c, c.Keys())
		stop()
		before := latest(t, c)
		var want []events.Event
		for i := range 20 {
			k := key(t, fmt.Sprint(i))
			put := mustPut(t, c, k, "A", absent)
			want = append(want, events.Event{Rev: put.Commit.Rev, Ops: []events.Op{{Action: "create", Collection: k.Collection, RKey: k.RKey, CID: put.CID}}})
		}
		_, rec, _ := e.firehose(t, c.DID(), c.Keys(), f.Cursor())
		rec.waitRev(t, want[len(want)-1].Rev)
		wantCommits(t, rec, before.Rev, want)
	}},
	{"FutureCursorIsAGapAndStartsAnew", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		f, _, stop := e.listening(t, c, c.Keys())
		stop()
		again, rec, _ := e.firehose(t, c.DID(), c.Keys(), f.Cursor()+1_000_000)
		rec.wait(t, "a Gap for the future cursor", func(e events.Event) bool {
			return e.Kind == events.Gap && strings.HasPrefix(e.Reason, "FutureCursor")
		})
		rec.wait(t, "a Gap for the new connection", func(e events.Event) bool {
			return e.Kind == events.Gap && strings.HasPrefix(e.Reason, "connected without")
		})
		waitConnected(t, again)
		heard(t, c, rec)
		if got := again.Cursor(); got > f.Cursor()+1000 {
			t.Errorf("the cursor is still %d", got)
		}
	}},
	{"CatchUpDeliversAtOnceAndOnce", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		f, rec, _ := e.listening(t, c, c.Keys())
		before := latest(t, c)
		var want []events.Event
		for i := range 5 {
			k := key(t, fmt.Sprint(i))
			put := mustPut(t, c, k, "A", absent)
			want = append(want, events.Event{Rev: put.Commit.Rev, Ops: []events.Op{{Action: "create", Collection: k.Collection, RKey: k.RKey, CID: put.CID}}})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			err := f.CatchUp(ctx, c.DID(), put.Commit.Rev)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			wantCommits(t, rec, before.Rev, want)
		}
	}},
	{"CommitsAreVerified", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		_, rec, _ := e.firehose(t, c.DID(), otherKey{t}, 0)
		if got := heard(t, c, rec); got.Kind != events.Gap || !strings.Contains(got.Reason, "verify") {
			t.Errorf("a commit under another key gives %+v", got)
		}
	}},
	{"FirehoseTellsOfDeactivation", func(t *testing.T, e *env) {
		c := e.login(t, fay)
		_, rec, _ := e.listening(t, c, c.Keys())
		token := e.session(t, fay)
		if status := e.post(t, "com.atproto.server.deactivateAccount", token, map[string]any{}, nil); status != http.StatusOK {
			t.Fatalf("deactivateAccount: HTTP %d", status)
		}
		rec.wait(t, "an inactive account", func(e events.Event) bool {
			return e.Kind == events.Account && !e.Active && e.Status == "deactivated"
		})
		if status := e.post(t, "com.atproto.server.activateAccount", token, nil, nil); status != http.StatusOK {
			t.Fatalf("activateAccount: HTTP %d", status)
		}
		rec.wait(t, "an active account", func(e events.Event) bool { return e.Kind == events.Account && e.Active })
	}},
	{"PollNoticesCommits", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		ask, err := atproto.LatestCommits(e.config(c.DID()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := events.NewPoll(events.PollOptions{Latest: ask, Interval: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		rec := newRecorder()
		p.Subscribe(c.DID(), rec.handle)
		run(t, p)
		rec.waitRev(t, latest(t, c).Rev)
		put := mustPut(t, c, key(t), "A", absent)
		if got := rec.waitRev(t, put.Commit.Rev); got.Kind != events.Gap {
			t.Errorf("%+v", got)
		}
	}},
}

// wantCommits compares the commits after rev with what was written: each once,
// in order, each following on the one before, and no Gap among them.
func wantCommits(t *testing.T, rec *recorder, since string, want []events.Event) {
	t.Helper()
	got := slices.DeleteFunc(rec.commits(), func(e events.Event) bool { return e.Rev <= since })
	if len(got) != len(want) {
		t.Fatalf("%d commits, want %d: %+v", len(got), len(want), got)
	}
	for i, g := range got {
		if g.Rev != want[i].Rev || g.Since != since || !slices.Equal(g.Ops, want[i].Ops) {
			t.Errorf("commit %d: %+v, want %+v since %s", i, g, want[i], since)
		}
		since = g.Rev
	}
	for _, e := range rec.all() {
		if e.Kind == events.Gap && e.Rev != "" {
			t.Errorf("Gap: %+v", e)
		}
	}
}

func waitConnected(t *testing.T, s events.Source) {
	t.Helper()
	for deadline := time.Now().Add(patience); !s.Connected(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not connected")
		}
	}
}

// heard writes until what it wrote last is heard, and returns that event. A PDS may
// take a connection before it listens to its own events, so the first writes may stay
// unheard.
func heard(t *testing.T, c *atproto.Client, rec *recorder) events.Event {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		put := mustPut(t, c, key(t, "heard"), time.Now().String(), atproto.Swap{Any: true})
		for range 40 {
			time.Sleep(50 * time.Millisecond)
			all := rec.all()
			if i := slices.IndexFunc(all, func(e events.Event) bool { return e.Rev == put.Commit.Rev }); i >= 0 {
				return all[i]
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is heard: %+v", rec.all())
		}
	}
}
