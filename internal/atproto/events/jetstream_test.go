package events

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	testclock "k8s.io/utils/clock/testing"
)

func newJetstream(t *testing.T, clk *testclock.FakeClock) (*Jetstream, *fakeStream) {
	t.Helper()
	f := newFakeStream(t)
	o := JetstreamOptions{Stream: f.stream()}
	if clk != nil {
		o.Clock = clk
	}
	j, err := NewJetstream(o)
	if err != nil {
		t.Fatal(err)
	}
	return j, f
}

func (c *conn) sendJSON(t *testing.T, format string, args ...any) {
	t.Helper()
	c.send(t, websocket.TextMessage, fmt.Appendf(nil, format, args...))
}

func commitJSON(us int64, rev, collection string) string {
	return fmt.Sprintf(`{"did":%q,"time_us":%d,"kind":"commit","commit":{"rev":%q,"operation":"create","collection":%q,"rkey":"a","cid":"bafy"}}`, testDID, us, rev, collection)
}

func wantQuery(t *testing.T, c *conn, dids []string, cursor string) {
	t.Helper()
	q, err := url.ParseQuery(c.query)
	if err != nil || !slices.Equal(q["wantedDids"], dids) || q.Get("wantedCollections") != testCollection || q.Get("cursor") != cursor {
		t.Errorf("the connection asks for %v, %v; want %v at %q", q, err, dids, cursor)
	}
}

func TestJetstreamDelivers(t *testing.T) {
	j, f := newJetstream(t, nil)
	stop := start(t, j) // waits for a subscription
	r := newRecorder()
	j.Subscribe(testDID, r.handle)
	c := f.next(t)
	wantQuery(t, c, []string{testDID}, "")
	r.want(t, Gap, "")
	c.sendJSON(t, "%s", commitJSON(20_000_000, "1", testCollection))
	if e := r.want(t, Commit, "1"); len(e.Ops) != 1 || e.Ops[0] != (Op{Action: "create", Collection: testCollection, RKey: "a", CID: "bafy"}) {
		t.Errorf("%+v", e)
	}
	c.sendJSON(t, "%s", commitJSON(21_000_000, "2", "other.collection.x"))
	c.sendJSON(t, `{"did":%q,"time_us":22000000,"kind":"account","account":{"active":false,"status":"takendown"}}`, testDID)
	if e := r.want(t, Account, ""); e.Active || e.Status != "takendown" {
		t.Errorf("%+v", e)
	}
	c.sendJSON(t, `{"did":%q,"time_us":23000000,"kind":"identity"}`, testDID)
	c.sendJSON(t, `{"did":`)
	r.want(t, Gap, "")

	// It comes back a little before the last event, without a Gap.
	_ = c.Close()
	c = f.next(t)
	wantQuery(t, c, []string{testDID}, "18000000")
	c.sendJSON(t, "%s", commitJSON(24_000_000, "3", testCollection))
	r.want(t, Commit, "3")

	// Other DIDs: another filter, and the new one gets its Gap.
	r2 := newRecorder()
	cancel := j.Subscribe("did:zzz", r2.handle)
	c = f.next(t)
	wantQuery(t, c, []string{testDID, "did:zzz"}, "19000000")
	r2.want(t, Gap, "")
	cancel()
	wantQuery(t, f.next(t), []string{testDID}, "19000000")
	stop()
	r.none(t)
}

func TestJetstreamAwayForLongIsAGap(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	j, f := newJetstream(t, clk)
	r := newRecorder()
	j.Subscribe(testDID, r.handle)
	start(t, j)
	c := f.next(t)
	r.want(t, Gap, "")
	c.sendJSON(t, "%s", commitJSON(20_000_000, "1", testCollection))
	r.want(t, Commit, "1")
	_ = c.Close()
	for !clk.HasWaiters() { // the backoff
		time.Sleep(time.Millisecond)
	}
	clk.Step(time.Hour)
	f.next(t)
	r.want(t, Gap, "")
}

// Many DIDs don't fit in a URL.
func TestJetstreamSendsALongFilter(t *testing.T) {
	j, f := newJetstream(t, nil)
	var dids []string
	for i := range maxDIDsInURL + 1 {
		dids = append(dids, fmt.Sprintf("did:plc:%024d", i))
		j.Subscribe(dids[i], func(Event) {})
	}
	start(t, j)
	c := f.next(t)
	if q, err := url.ParseQuery(c.query); err != nil || q.Get("requireHello") != "true" || q["wantedDids"] != nil {
		t.Errorf("the connection asks for %s", c.query)
	}
	var got struct {
		Type    string
		Payload struct{ WantedDids, WantedCollections []string }
	}
	if err := c.ReadJSON(&got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "options_update" || !slices.Equal(got.Payload.WantedDids, dids) || !slices.Equal(got.Payload.WantedCollections, []string{testCollection}) {
		t.Errorf("%+v", got)
	}
}
