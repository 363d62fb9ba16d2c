package contracttest

import (
	"net/http"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

var sessionCases = []testCase{
	{"LoginByHandleAndDID", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		for _, id := range []string{a.Handle, a.DID} {
			c, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: id, Password: a.Password}, e.loginOptions())
			if err != nil {
				t.Fatalf("log in as %s: %v", id, err)
			}
			if c.DID() != a.DID {
				t.Errorf("logged in as %s: %s", id, c.DID())
			}
			if err := c.CheckAuth(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}},
	{"WrongPasswordIsUnauthorized", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		_, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: a.DID, Password: "wrong"}, e.loginOptions())
		wantErr(t, err, atproto.ErrUnauthorized)
	}},
	{"SessionOfAnotherAccountIsUnauthorized", func(t *testing.T, e *env) {
		a, b := e.accounts[alice], e.accounts[bob]
		cfg := e.config(a.DID)
		auth, err := atproto.NewPasswordAuth(cfg, atproto.Credentials{Identifier: b.DID, Password: b.Password})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Auth = auth
		c, err := atproto.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
		wantErr(t, c.CheckAuth(t.Context()), atproto.ErrUnauthorized)
	}},
	{"TokenOfAnotherAccountIsRefused", func(t *testing.T, e *env) {
		c := e.withToken(t, alice, e.session(t, bob))
		_, err := c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
		_, err = c.GetRecord(t.Context(), key(t))
		wantErr(t, err, atproto.ErrRecordNotFound)
	}},
	{"GarbageTokenIsUnauthorized", func(t *testing.T, e *env) {
		c := e.withToken(t, alice, "garbage")
		_, err := c.PutRecord(t.Context(), key(t), value("A"), absent)
		wantErr(t, err, atproto.ErrUnauthorized)
	}},
	{"RefusedTokenIsRenewedOnce", func(t *testing.T, e *env) {
		e.renewedOnce(t, func(token string) string { return token + "x" })
	}},
	{"AppPasswordsWrite", func(t *testing.T, e *env) {
		a := e.accounts[alice]
		var app struct{ Password string }
		if status := e.post(t, "com.atproto.server.createAppPassword", e.session(t, alice), map[string]any{"name": "contract"}, &app); status != http.StatusOK {
			t.Fatalf("createAppPassword: HTTP %d", status)
		}
		c, err := atproto.Login(t.Context(), e.URL, atproto.Credentials{Identifier: a.DID, Password: app.Password}, e.loginOptions())
		if err != nil {
			t.Fatal(err)
		}
		k := key(t)
		put := mustPut(t, c, k, "A", absent)
		if _, err := c.DeleteRecord(t.Context(), k, atproto.Swap{CID: put.CID}); err != nil {
			t.Error(err)
		}
	}},
}
