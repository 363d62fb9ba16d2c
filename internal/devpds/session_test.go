package devpds

import (
	"testing"
	"time"
)

// TestTokensExpire shows when tokens end, and with which errors.
func TestTokensExpire(t *testing.T) {
	now := newFakeClock()
	s, c := memory(t, Config{Clock: now, AccessTTL: time.Minute, RefreshTTL: time.Hour})
	login := c.post("com.atproto.server.createSession", object{"identifier": c.did, "password": s.Accounts()[0].Password}).want(t, 200, "")
	refresh := &caller{t: t, h: c.h, base: c.base, token: login.text("refreshJwt")}

	c.get("com.atproto.server.getSession").want(t, 200, "")
	now.step(time.Minute + time.Second)
	r := c.put("a", object{}).want(t, 400, "ExpiredToken")
	if r.text("message") != "Token has expired" {
		t.Errorf("message %q", r.text("message"))
	}
	next := refresh.post("com.atproto.server.refreshSession", nil).want(t, 200, "")
	c.token = next.text("accessJwt")
	c.put("a", object{}).want(t, 200, "")

	// The used token gives the same successor for a while.
	again := refresh.post("com.atproto.server.refreshSession", nil).want(t, 200, "")
	if tokenID(t, s, again) != tokenID(t, s, next) {
		t.Error("a used refresh token gave another successor")
	}
	now.step(time.Hour)
	refresh.post("com.atproto.server.refreshSession", nil).want(t, 400, "ExpiredToken")
	refresh.token = next.text("refreshJwt")
	refresh.post("com.atproto.server.refreshSession", nil).want(t, 400, "ExpiredToken")
	refresh.post("com.atproto.server.deleteSession", nil).want(t, 200, "")
}

// TestRefreshRotates shows that a refresh token has one successor, which works
// after the grace time, when the first is gone.
func TestRefreshRotates(t *testing.T) {
	now := newFakeClock()
	s, c := memory(t, Config{Clock: now})
	login := c.post("com.atproto.server.createSession", object{"identifier": c.did, "password": s.Accounts()[0].Password})
	first := &caller{t: t, h: c.h, base: c.base, token: login.text("refreshJwt")}
	second := *first
	second.token = first.post("com.atproto.server.refreshSession", nil).want(t, 200, "").text("refreshJwt")
	now.step(refreshGrace + time.Second)
	r := first.post("com.atproto.server.refreshSession", nil).want(t, 400, "ExpiredToken")
	if r.text("message") != "Token has been revoked" {
		t.Errorf("message %q", r.text("message"))
	}
	second.post("com.atproto.server.refreshSession", nil).want(t, 200, "")
	if _, kept := s.token(mustParse(t, s, first.token).ID); kept {
		t.Error("an expired refresh token is kept")
	}
}

// TestForeignTokens shows that tokens of another server, of another kind and with
// a changed body don't pass.
func TestForeignTokens(t *testing.T) {
	other, stranger := memory(t, Config{})
	_, c := memory(t, Config{})
	for name, token := range map[string]string{
		"another server's": stranger.token,
		"cut":              c.token[:len(c.token)-2],
		"none algorithm":   "eyJhbGciOiJub25lIn0.e30.",
	} {
		probe := *c
		probe.token = token
		if r := probe.get("com.atproto.server.getSession"); r.status != 400 || r.text("error") != "InvalidToken" {
			t.Errorf("%s token: %d %s", name, r.status, r.raw)
		}
	}
	if other.AdminPassword() == "" {
		t.Error("no administrator's password")
	}
}

// tokenID is the id of the refresh token of an answer.
func tokenID(t *testing.T, s *Server, a answer) string {
	t.Helper()
	return mustParse(t, s, a.text("refreshJwt")).ID
}

func mustParse(t *testing.T, s *Server, token string) *claims {
	t.Helper()
	c, err := s.parseToken(token, typeRefresh, []string{scopeRefresh}, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
