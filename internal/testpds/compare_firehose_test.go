package testpds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// both runs f on the embedded and the reference PDS and compares the texts.
func both(t *testing.T, o Options, f func(p *peer) []string) {
	t.Helper()
	var texts [][]string
	for _, s := range []*Server{StartDev(t, o), StartReference(t, o)} {
		texts = append(texts, f(newPeer(t, s)))
	}
	if diff := cmp.Diff(texts[1], texts[0]); diff != "" {
		t.Errorf("reference (-), embedded (+):\n%s", diff)
	}
}

// live is a subscription that is at work: the reference subscribes some time after it
// has accepted, and records are put until it tells of one. Each is heard of from sure,
// which misses nothing, before the next: many at once would be more than a small buffer
// takes. What the repository is then doesn't depend on how many there were.
func (p *peer) live(sure *stream) *stream {
	p.t.Helper()
	s := p.subscribe("")
	began := make(chan error, 1)
	go func() {
		_, _, err := s.conn.ReadMessage()
		began <- err
	}()
	for i := 0; ; i++ {
		p.put("probe", fmt.Sprintf(`{"probe":%d}`, i), "")
		sure.skip(infraCollection + "/probe ")
		select {
		case err := <-began:
			if err != nil {
				p.t.Fatalf("firehose: %v", err)
			}
			p.remove("probe", "")
			sure.skip("delete " + infraCollection + "/probe ")
			s.skip("delete " + infraCollection + "/probe ")
			return s
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// skip reads up to an event that holds part.
func (s *stream) skip(part string) {
	s.t.Helper()
	for {
		text := s.next()
		if strings.Contains(text, part) {
			return
		}
		if strings.HasPrefix(text, "closed") {
			s.t.Fatalf("%s before %q", text, part)
		}
	}
}

// probe tells whether an event is of live.
func probe(text string) bool { return strings.Contains(text, infraCollection+"/probe ") }

// TestFirehoseAsReference compares the live stream, and the same events by cursor.
func TestFirehoseAsReference(t *testing.T) {
	both(t, Options{Accounts: []string{"alice", "bob"}}, func(p *peer) []string {
		p.login("bob")
		p.login("alice")
		live := p.live(p.subscribe("?cursor=0"))
		p.put("a", `{"x":1}`, "")
		p.put("b", `{"x":1}`, "")
		p.put("a", `{"x":2}`, "")
		p.put("a", `{"x":2}`, "") // no event
		p.put("a", `{"x":3}`, `,"swapRecord":null`)
		p.remove("b", "")
		p.remove("b", "") // no event
		w := func(action, rkey, value string) string {
			return `{"$type":"com.atproto.repo.applyWrites#` + action + `","collection":"` + infraCollection + `","rkey":"` + rkey + `"` + value + `}`
		}
		p.apply(w("create", "c", `,"value":{"n":1}`)+","+w("update", "a", `,"value":{"n":2}`), "")
		p.apply(w("delete", "c", "")+","+w("create", "d", `,"value":{"n":1}`), "")
		p.apply("", "")
		p.admin(`{"subject":{"$type":"com.atproto.repo.strongRef","uri":"at://{alice}/` + infraCollection + `/a","cid":"` + otherCID + `"},"takedown":{"applied":true}}`)
		p.as("bob")
		p.post("com.atproto.server.deactivateAccount", `{}`)
		p.post("com.atproto.server.activateAccount", "")
		account := `{"subject":{"$type":"com.atproto.admin.defs#repoRef","did":"{bob}"}`
		p.admin(account + `,"takedown":{"applied":true}}`)
		p.admin(account + `,"takedown":{"applied":false}}`)
		p.admin(account + `,"deactivated":{"applied":true}}`)
		p.admin(account + `,"deactivated":{"applied":false}}`)
		p.admin(account + `}`)
		p.as("alice")
		p.put("last", `{}`, "")
		out := []string{"live"}
		read := func(s *stream) {
			for {
				text := s.next()
				if probe(text) {
					continue
				}
				out = append(out, text)
				if strings.Contains(text, "/last ") || strings.HasPrefix(text, "closed") {
					return
				}
			}
		}
		read(live)
		out = append(out, "from cursor 0")
		read(p.subscribe("?cursor=0"))
		out = append(out, "from a cursor")
		read(p.subscribe(fmt.Sprintf("?cursor=%d", live.last-2)))
		for _, cursor := range []string{"999999999", "x", ""} {
			out = append(out, "cursor "+cursor)
			s := p.subscribe("?cursor=" + cursor)
			if cursor != "" {
				out = append(out, s.next(), s.next())
			}
		}
		return out
	})
}

// TestLaggingSubscribersAsReference compares a cursor from before the back-fill
// window (an #info, then the events that are within it), and what a subscriber
// gets that doesn't read.
func TestLaggingSubscribersAsReference(t *testing.T) {
	const window = 5 * time.Second
	both(t, Options{Backfill: window, MaxBuffer: 5}, func(p *peer) []string {
		p.login("alice")
		p.put("old", `{"x":1}`, "")
		time.Sleep(window + 500*time.Millisecond)
		none := p.subscribe("?cursor=1")
		info := none.next()
		var out []string
		for late := true; late; {
			begin := time.Now()
			p.put("new", `{"x":1}`, "")
			out = []string{info, none.next()}
			some := p.subscribe("?cursor=1")
			out = append(out, some.next())
			if late = time.Since(begin) > window/2; late { // it may be older than the window
				p.remove("new", "")
				none.next()
				time.Sleep(window + 500*time.Millisecond)
				continue
			}
			out = append(out, some.next())
		}

		slow, quick := p.live(none), p.live(none)
		big := strings.Repeat("x", 500_000)
		for i := range 30 { // 15 MB: more than the sockets' buffers hold
			p.put("big", fmt.Sprintf(`{"x":"%d%s"}`, i, big), "")
			quick.skip("/big ") // the slow one has been sent it too
		}
		for {
			text := slow.next()
			if !strings.HasPrefix(text, "#commit") {
				return append(out, text, slow.next())
			}
		}
	})
}
