package testpds

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitText is what an answer says about rate limits. The reset time is told only
// by whether it is ahead and within the window, the rest of the general limit by
// how much was spent since the first answer (making the accounts spends too).
func (p *peer) limitText(a answer) string {
	reset, _ := strconv.ParseInt(a.header.Get("RateLimit-Reset"), 10, 64)
	ahead := time.Until(time.Unix(reset, 0))
	retry, _ := strconv.Atoi(a.header.Get("Retry-After"))
	remaining := a.header.Get("RateLimit-Remaining")
	if a.header.Get("RateLimit-Limit") == "3000" {
		if p.vars["first"] == "" {
			p.vars["first"] = remaining
		}
		first, _ := strconv.Atoi(p.vars["first"])
		now, _ := strconv.Atoi(remaining)
		remaining = fmt.Sprint("first - ", first-now)
	}
	return fmt.Sprintf("%d %s %q limit %s remaining %s policy %s reset ahead %t retry-after %t", a.status, a.text("error"), p.mask(a.text("message")),
		a.header.Get("RateLimit-Limit"), remaining, a.header.Get("RateLimit-Policy"),
		ahead > -2*time.Second && ahead < 25*time.Hour, retry > 0)
}

// TestRateLimitsAsReference compares the points that calls cost, the headers, and
// the refusal.
func TestRateLimitsAsReference(t *testing.T) {
	both(t, Options{RateLimits: true}, func(p *peer) []string {
		out := []string{p.limitText(p.login("alice"))}
		add := func(a answer) { out = append(out, p.limitText(a)) }
		add(p.put("a", `{"x":1}`, ""))
		add(p.put("a", `{"x":1}`, "")) // no-op
		add(p.put("a", `{"x":2}`, `,"swapRecord":null`))
		add(p.put("..", `{}`, "")) // refused before it is counted
		add(p.remove("a", ""))
		add(p.remove("a", ""))
		add(p.post("com.atproto.repo.createRecord", `{"repo":"{alice}","collection":"`+infraCollection+`","record":{}}`))
		add(p.apply("", ""))
		add(p.read("a"))
		add(p.get("com.atproto.sync.getRepo?did={alice}"))
		add(p.get("com.atproto.sync.getLatestCommit?did={alice}"))
		add(p.get("com.example.nope"))
		add(p.get("_health"))
		for i := range 10 { // 600 points each, of 5,000 an hour
			list := make([]string, 200)
			for j := range list {
				list[j] = fmt.Sprintf(`{"$type":"com.atproto.repo.applyWrites#create","collection":%q,"rkey":"r%d-%d","value":{"n":1}}`, infraCollection, i, j)
			}
			add(p.apply(strings.Join(list, ","), ""))
		}
		add(p.put("a", `{}`, ""))
		add(p.read("a"))
		p.as("")
		add(p.put("a", `{}`, ""))
		for range 32 { // 30 in 5 minutes
			add(p.post("com.atproto.server.createSession", `{"identifier":"x.test","password":"x"}`))
		}
		return out
	})
}
