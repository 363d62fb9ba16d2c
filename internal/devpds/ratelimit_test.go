package devpds

import (
	"testing"
	"time"
)

// TestLimitWindows shows that points run out, that a refused call spends too, and
// that a window ends.
func TestLimitWindows(t *testing.T) {
	now := newFakeClock()
	_, c := memory(t, Config{Clock: now, AccessTTL: 48 * time.Hour, Limits: Limits{Enabled: true, WriteHour: 10, WriteDay: 25}})
	for i := range 5 {
		c.put("a", object{"n": i}).want(t, 200, "")
	}
	r := c.put("a", object{"n": 5}).want(t, 429, "RateLimitExceeded")
	if r.header.Get("Retry-After") != "3600" || r.header.Get("RateLimit-Limit") != "10" || r.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("headers %v", r.header)
	}
	c.remove("a").want(t, 429, "RateLimitExceeded")
	c.read("a").want(t, 200, "")

	now.step(time.Hour)
	for i := range 5 { // 13 of the day are spent
		c.put("a", object{"n": -i - 1}).want(t, 200, "")
	}
	now.step(time.Hour)
	c.put("a", object{"n": 1}).want(t, 200, "")
	r = c.put("a", object{"n": 2}).want(t, 429, "RateLimitExceeded")
	if r.header.Get("RateLimit-Limit") != "25" {
		t.Errorf("headers %v", r.header)
	}
	now.step(23 * time.Hour)
	c.put("a", object{"n": 2}).want(t, 200, "")
}

// TestLimitsPerAccount shows that one account's points are not another's.
func TestLimitsPerAccount(t *testing.T) {
	s, c := memory(t, Config{
		Accounts: []AccountConfig{{Handle: "alice.test"}, {Handle: "bob.test"}},
		Limits:   Limits{Enabled: true, WriteHour: 2},
	})
	bob := (&caller{t: t, h: c.h, base: c.base}).login(s.Accounts()[1])
	c.put("a", object{}).want(t, 200, "")
	c.put("a", object{}).want(t, 429, "RateLimitExceeded")
	bob.put("a", object{}).want(t, 200, "")
}
