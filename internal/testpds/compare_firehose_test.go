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

// TestFirehoseAsReference compares the live stream, and the same events by cursor.
func TestFirehoseAsReference(t *testing.T) {
	both(t, Options{Accounts: []string{"alice", "bob"}}, func(p *peer) []string {
		p.login("bob")
		p.login("alice")
		live := p.subscribe("")
		time.Sleep(200 * time.Millisecond) // the reference subscribes after it accepted
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
	both(t, Options{Backfill: 5 * time.Second, MaxBuffer: 5}, func(p *peer) []string {
		p.login("alice")
		p.put("old", `{"x":1}`, "")
		time.Sleep(5500 * time.Millisecond) // older than the window
		var out []string
		none := p.subscribe("?cursor=1")
		out = append(out, none.next())
		p.put("new", `{"x":1}`, "")
		out = append(out, none.next())
		some := p.subscribe("?cursor=1")
		out = append(out, some.next(), some.next())

		slow := p.subscribe("")
		time.Sleep(200 * time.Millisecond) // the reference subscribes after it accepted
		big := strings.Repeat("x", 500_000)
		for i := range 30 { // 15 MB: more than the sockets' buffers hold
			p.put("big", fmt.Sprintf(`{"x":"%d%s"}`, i, big), "")
		}
		time.Sleep(time.Second) // the reference polls
		for {
			text := slow.next()
			if !strings.HasPrefix(text, "#commit") {
				return append(out, text, slow.next())
			}
		}
	})
}
