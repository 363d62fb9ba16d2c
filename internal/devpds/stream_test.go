package devpds

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/gorilla/websocket"
)

// fakeClock stands still until it is stepped.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *fakeClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// subscription is a firehose client.
type subscription struct {
	t    *testing.T
	conn *websocket.Conn
}

func subscribeAt(cursor uint64) string { return fmt.Sprint("?cursor=", cursor) }

// subscribe opens the firehose; query is "" or "?cursor=…".
func subscribe(t *testing.T, s *Server, query string) *subscription {
	t.Helper()
	target := "ws" + strings.TrimPrefix(s.URL(), "http") + "/xrpc/com.atproto.sync.subscribeRepos" + query
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return &subscription{t, conn}
}

// next message: its type, "" for an error, "closed" at the end.
func (s *subscription) next() (string, []byte) {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	_, data, err := s.conn.ReadMessage()
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed):
		return "closed", []byte(fmt.Sprint(closed.Code, " ", closed.Text))
	case err != nil:
		s.t.Fatal(err)
	}
	return splitFrame(s.t, data)
}

// want the next message to be of a type.
func (s *subscription) want(kind string) []byte {
	s.t.Helper()
	got, body := s.next()
	if got != kind {
		s.t.Fatalf("message %q %s, want %q", got, body, kind)
	}
	return body
}

// commit is the next message, a #commit.
func (s *subscription) commit() *comatproto.SyncSubscribeRepos_Commit {
	s.t.Helper()
	var m comatproto.SyncSubscribeRepos_Commit
	if err := m.UnmarshalCBOR(bytes.NewReader(s.want("#commit"))); err != nil {
		s.t.Fatal(err)
	}
	return &m
}

// keepEvents sets how many events stay in memory.
func keepEvents(s *Server, n int) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.keep = n
}

// TestLiveAndBackfillMeet subscribes at every cursor while a writer writes; each
// subscriber gets every event once, in order.
func TestLiveAndBackfillMeet(t *testing.T) {
	for name, config := range map[string]Config{
		"memory": {Memory: true},
		"disk":   {Dir: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			config.MaxBuffer = 100_000
			s := open(t, config)
			if !config.Memory {
				keepEvents(s, 20) // most events leave memory
			}
			c := (&caller{t: t, base: s.URL()}).login(s.Accounts()[0])
			const commits = 150
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range commits {
					if r := c.put(fmt.Sprint("r", i%7), object{"n": i}); r.status != 200 {
						t.Errorf("put: %s", r.raw)
					}
				}
			}()
			var readers sync.WaitGroup
			for cursor := range uint64(40) {
				sub := subscribe(t, s, subscribeAt(cursor*3%4)) // the account's own events are 1 to 4
				readers.Add(1)
				go func() {
					defer readers.Done()
					want := int64(cursor*3%4) + 1
					for want <= commits+4 {
						kind, body := sub.next()
						if kind == "#commit" {
							var m comatproto.SyncSubscribeRepos_Commit
							if err := m.UnmarshalCBOR(bytes.NewReader(body)); err != nil || m.Seq != want {
								t.Errorf("seq %d, want %d (%v)", m.Seq, want, err)
								return
							}
						}
						want++
					}
				}()
			}
			readers.Wait()
			<-done
		})
	}
}

// TestSlowSubscriber shows that a subscriber that doesn't read is told so, and
// hinders nobody.
func TestSlowSubscriber(t *testing.T) {
	s, c := memory(t, Config{ListenAddr: "127.0.0.1:0", MaxBuffer: 10})
	slow, fast := subscribe(t, s, ""), subscribe(t, s, "")
	big := strings.Repeat("x", 700_000)
	for i := range 40 {
		c.put("big", object{"n": i, "x": big}).want(t, 200, "")
		fast.commit()
	}
	for {
		kind, body := slow.next()
		if kind == "#commit" {
			continue
		}
		if kind != "" || !bytes.Contains(body, []byte("ConsumerTooSlow")) {
			t.Fatalf("message %q %s", kind, body)
		}
		break
	}
	if end := slow.want("closed"); string(end) != "1008 ConsumerTooSlow" {
		t.Errorf("closed %s", end)
	}
}

// TestMemoryForgets shows what a cursor gets that is older than what memory keeps.
func TestMemoryForgets(t *testing.T) {
	s, c := memory(t, Config{ListenAddr: "127.0.0.1:0"})
	keepEvents(s, 8)
	for i := range 30 {
		c.put("r", object{"n": i}).want(t, 200, "")
	}
	sub := subscribe(t, s, "?cursor=1")
	sub.want("#info")
	last, forgotten, _ := s.log.state()
	if m := sub.commit(); m.Seq != int64(forgotten)+1 || forgotten == 0 || last-forgotten < 8 {
		t.Errorf("first event %d after %d were forgotten, of %d", m.Seq, forgotten, last)
	}
}

// TestCloseEndsSubscriptions shows that Close ends them, and waits for that.
func TestCloseEndsSubscriptions(t *testing.T) {
	s, _ := memory(t, Config{ListenAddr: "127.0.0.1:0"})
	sub := subscribe(t, s, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sub.conn.ReadMessage(); err == nil {
		t.Error("a message after Close")
	}
}

// TestCloseEndsBlockedSubscription shows that Close doesn't wait for a subscriber
// that doesn't read.
func TestCloseEndsBlockedSubscription(t *testing.T) {
	s, c := memory(t, Config{ListenAddr: "127.0.0.1:0", MaxBuffer: 1000})
	subscribe(t, s, "")
	big := strings.Repeat("x", 900_000)
	for i := range 30 { // more than the sockets' buffers hold
		c.put("big", object{"n": i, "x": big}).want(t, 200, "")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
