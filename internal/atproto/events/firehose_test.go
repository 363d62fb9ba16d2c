package events

import (
	"context"
	"strings"
	"testing"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/gorilla/websocket"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// firehose is a Firehose against a fake stream, with one subscriber.
type firehose struct {
	*Firehose
	*recorder
	stream *fakeStream
	acct   *account
	stop   func()
}

// unsettled is a clock by which settleAfter never passes: a slow test would be told of a
// second Gap somewhere.
type unsettled struct{ clock.RealClock }

// NewTimer implements clock.Clock.
func (c unsettled) NewTimer(d time.Duration) clock.Timer {
	t := c.RealClock.NewTimer(d)
	if d == settleAfter {
		t.Stop()
	}
	return t
}

func newFirehose(t *testing.T, cursor int64, change func(*FirehoseOptions)) *firehose {
	t.Helper()
	h := &firehose{recorder: newRecorder(), stream: newFakeStream(t), acct: newAccount(t)}
	o := FirehoseOptions{Stream: h.stream.stream(), Keys: h.acct, Cursor: cursor}
	o.Clock = unsettled{}
	if change != nil {
		change(&o)
	}
	f, err := NewFirehose(o)
	if err != nil {
		t.Fatal(err)
	}
	h.Firehose = f
	f.Subscribe(testDID, h.handle)
	h.stop = start(t, f)
	return h
}

func (h *firehose) sendCommit(t *testing.T, c *conn, m *comatproto.SyncSubscribeRepos_Commit) {
	t.Helper()
	c.send(t, websocket.BinaryMessage, frame(t, "#commit", m))
}

func TestFirehoseDelivers(t *testing.T) {
	h := newFirehose(t, 0, nil)
	c := h.stream.next(t)
	if c.query != "" {
		t.Errorf("the first connection asks for %q", c.query)
	}
	h.want(t, Gap, "")
	a := h.acct.commit(11, "a", "A")
	h.sendCommit(t, c, a)
	e := h.want(t, Commit, a.Rev)
	if len(e.Ops) != 1 || e.Ops[0] != (Op{Action: "create", Collection: testCollection, RKey: "a", CID: a.Ops[0].Cid.String()}) || e.Since != *a.Since {
		t.Errorf("%+v", e)
	}
	b := h.acct.commit(12, "a", "B")
	h.sendCommit(t, c, b)
	h.want(t, Commit, b.Rev)
	d := h.acct.commit(15, "a", "") // seq has gaps
	h.sendCommit(t, c, d)
	if e := h.want(t, Commit, d.Rev); e.Ops[0] != (Op{Action: "delete", Collection: testCollection, RKey: "a"}) {
		t.Errorf("%+v", e)
	}
	h.sendCommit(t, c, b) // again
	h.sendCommit(t, c, d)
	e1 := h.acct.commit(20, "x", "X")
	h.sendCommit(t, c, e1)
	h.want(t, Commit, e1.Rev)
	if h.Cursor() != 20 {
		t.Errorf("cursor %d", h.Cursor())
	}
}

func TestFirehoseReconnectsAtItsCursor(t *testing.T) {
	h := newFirehose(t, 0, nil)
	c := h.stream.next(t)
	h.want(t, Gap, "")
	a := h.acct.commit(11, "a", "A")
	h.sendCommit(t, c, a)
	h.want(t, Commit, a.Rev)
	_ = c.Close()
	c = h.stream.next(t)
	if c.query != "cursor=11" {
		t.Errorf("the second connection asks for %q", c.query)
	}
	b := h.acct.commit(12, "b", "B")
	h.sendCommit(t, c, b)
	h.want(t, Commit, b.Rev) // no Gap: nothing was missed
}

// hungKeys never finds a key.
type hungKeys struct{}

func (hungKeys) SigningKey(ctx context.Context, _ string, _ bool) (atcrypto.PublicKey, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// An account whose key can't be had gets Gaps, and doesn't hold up what follows.
func TestFirehoseKeyLookupThatHangs(t *testing.T) {
	h := newFirehose(t, 0, func(o *FirehoseOptions) { o.Keys = hungKeys{} })
	c := h.stream.next(t)
	h.want(t, Gap, "")
	a := h.acct.commit(1, "a", "A")
	h.sendCommit(t, c, a)
	status := "deactivated"
	c.send(t, websocket.BinaryMessage, frame(t, "#account", &comatproto.SyncSubscribeRepos_Account{Seq: 2, Did: testDID, Status: &status, Time: "x"}))
	h.want(t, Gap, a.Rev)
	h.want(t, Account, "")
}

func TestFirehoseStreamErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		query string
		gaps  []string
	}{
		"FutureCursor":    {"", []string{"FutureCursor", "connected without"}},
		"ConsumerTooSlow": {"cursor=5", []string{"ConsumerTooSlow"}},
		"SomethingNew":    {"cursor=5", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFirehose(t, 5, nil)
			c := h.stream.next(t)
			if c.query != "cursor=5" {
				t.Errorf("the first connection asks for %q", c.query)
			}
			h.want(t, Gap, "")
			c.send(t, websocket.BinaryMessage, errorFrame(t, name))
			c = h.stream.next(t)
			if c.query != tc.query {
				t.Errorf("the next connection asks for %q", c.query)
			}
			for _, reason := range tc.gaps {
				if e := h.want(t, Gap, ""); !strings.HasPrefix(e.Reason, reason) {
					t.Errorf("reason %q, want %q", e.Reason, reason)
				}
			}
			a := h.acct.commit(6, "a", "A")
			h.sendCommit(t, c, a)
			h.want(t, Commit, a.Rev)
		})
	}
}

func TestFirehoseOtherMessages(t *testing.T) {
	h := newFirehose(t, 5, nil)
	c := h.stream.next(t)
	h.want(t, Gap, "")
	c.send(t, websocket.BinaryMessage, frame(t, "#info", &comatproto.SyncSubscribeRepos_Info{Name: "OutdatedCursor"}))
	if e := h.want(t, Gap, ""); !strings.HasPrefix(e.Reason, "OutdatedCursor") {
		t.Errorf("%+v", e)
	}
	c.send(t, websocket.BinaryMessage, frame(t, "#info", &comatproto.SyncSubscribeRepos_Info{Name: "Other"}))
	status := "takendown"
	c.send(t, websocket.BinaryMessage, frame(t, "#account", &comatproto.SyncSubscribeRepos_Account{Seq: 6, Did: testDID, Status: &status, Time: "x"}))
	if e := h.want(t, Account, ""); e.Active || e.Status != "takendown" {
		t.Errorf("%+v", e)
	}
	c.send(t, websocket.BinaryMessage, frame(t, "#sync", &comatproto.SyncSubscribeRepos_Sync{Seq: 7, Did: testDID, Rev: "3kzzzzzzzzz22", Time: "x"}))
	h.want(t, Gap, "3kzzzzzzzzz22")
	c.send(t, websocket.BinaryMessage, frame(t, "#identity", &comatproto.SyncSubscribeRepos_Identity{Seq: 8, Did: testDID, Time: "x"}))
	c.send(t, websocket.BinaryMessage, []byte("garbage"))
	if e := h.want(t, Gap, ""); !strings.Contains(e.Reason, "decoded") {
		t.Errorf("%+v", e)
	}
	if h.Cursor() != 8 {
		t.Errorf("cursor %d", h.Cursor())
	}
}

// A server that accepts the connection and falls silent is left after the read
// timeout; one that answers pings is not.
func TestFirehoseLeavesAHungConnection(t *testing.T) {
	h := newFirehose(t, 5, func(o *FirehoseOptions) {
		o.PingEvery, o.ReadTimeout = 10*time.Millisecond, time.Second
	})
	h.want(t, Gap, "")
	h.stream.next(t) // never reads, so never answers a ping
	a := h.acct.commit(6, "a", "A")
	var left <-chan struct{}
	for tries, heard := 0, false; !heard; tries++ {
		if tries == 20 {
			t.Fatal("each connection that answers pings is left")
		}
		c := h.stream.next(t)
		left = c.answer()
		select {
		case <-left: // for a machine that stands still, no answer comes in time
			continue
		case <-time.After(1500 * time.Millisecond): // longer than the read timeout
		}
		if c.WriteMessage(websocket.BinaryMessage, frame(t, "#commit", a)) != nil {
			continue // it stood still here
		}
		select {
		case <-left: // or here
		case e := <-h.ch:
			if heard = true; e.Kind != Commit || e.Rev != a.Rev {
				t.Errorf("got %+v, want the commit %s", e, a.Rev)
			}
		}
	}
	h.stop()
	<-left
	if h.Connected() {
		t.Error("connected after the end")
	}
}

// answer answers pings until the source leaves, which closes what it returns.
func (c *conn) answer() <-chan struct{} {
	left := make(chan struct{})
	go func() {
		defer close(left)
		for {
			if _, _, err := c.ReadMessage(); err != nil {
				return
			}
		}
	}()
	return left
}

// What is written between the handshake and the moment at which the PDS listens
// to its own events is in no stream: a second Gap covers it.
func TestFirehoseSettlesAfterAConnectionWithoutCursor(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	h := newFirehose(t, 0, func(o *FirehoseOptions) { o.Clock = clk })
	h.stream.next(t)
	h.want(t, Gap, "")
	for !clk.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clk.Step(settleAfter)
	h.want(t, Gap, "")
}

func TestNewFirehoseRefusesABadURL(t *testing.T) {
	if _, err := NewFirehose(FirehoseOptions{Stream: Stream{URL: "pds.example"}}); err == nil {
		t.Error("no error")
	}
}

// TestFirehoseForgets: of repositories that nobody subscribes to any more nothing is kept,
// though nothing happens in them.
func TestFirehoseForgets(t *testing.T) {
	t.Parallel()
	f, err := NewFirehose(FirehoseOptions{Stream: Stream{URL: "https://pds.example"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel := f.Subscribe("did:plc:gone", func(Event) {})
	f.Subscribe(testDID, func(Event) {})
	sync := func(seq int64, did string) {
		f.process(t.Context(), &message{seq: seq, sync: &comatproto.SyncSubscribeRepos_Sync{Did: did, Rev: "1"}})
	}
	sync(1, "did:plc:gone")
	sync(2, testDID)
	if len(f.revs) != 2 {
		t.Fatalf("revs of those that are subscribed to: %v", f.revs)
	}
	cancel()
	sync(3, testDID)
	if len(f.revs) != 1 || f.revs[testDID] != "1" {
		t.Errorf("after the end of one subscription: %v", f.revs)
	}
}
