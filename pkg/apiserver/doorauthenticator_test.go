package apiserver

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// Whoever a certificate of the shards' authority makes a master isn't one here. A proxy
// of that authority may bring masters, and another authority may make them.
func TestMastersOfShardsAuthority(t *testing.T) {
	ca, other := newAuthority(t, "kcp"), newAuthority(t, "other")
	plain := func(c *x509.Certificate) { c.Subject.Organization = nil }
	master := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "a", Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
	})
	somebody := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "a"}}, true, nil
	})
	for name, c := range map[string]struct {
		cert   *certpair.Pair
		inner  authenticator.Request
		reason metrics.DoorRefusal
	}{
		"a master":                       {certificate(t, ca, "kcp-admin", nil), master, metrics.DoorName},
		"a shard that isn't named":       {certificate(t, ca, "shard-a", nil), master, metrics.DoorName},
		"a master by a proxy":            {certificate(t, ca, "proxy", plain), master, ""},
		"a master who is somebody here":  {certificate(t, ca, "kcp-admin", nil), somebody, ""},
		"a master of another authority":  {certificate(t, other, "admin", nil), master, ""},
		"somebody of the same authority": {certificate(t, ca, "alice", plain), somebody, ""},
	} {
		for _, path := range []string{infras, "/clusters/w1" + infras} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.TLS = over(c.cert)
			_, log := send(t, doors{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if resp, ok, err := (doorAuthenticator{c.inner}).AuthenticateRequest(r); ok != (c.reason == "") || (resp != nil) != ok || err != nil {
					t.Errorf("%s: %v, %t, %v", name, resp, ok, err)
				} else if !ok {
					w.WriteHeader(http.StatusUnauthorized) // as the stock handler would
					_, _ = w.Write([]byte(`{"kind":"Status"}`))
				}
			}), Codecs, believing(ca)}, r, c.reason)
			if c.reason != "" && !strings.Contains(log, flagShardNames) {
				t.Errorf("%s: the log doesn't say what to do: %s", name, log)
			}
		}
	}
}

// The audit log has the workspace, which the path behind the door lacks.
func TestAuditHasTheWorkspace(t *testing.T) {
	for door, want := range map[string]string{"": "", "w1": "w1", "*": "*"} {
		ctx := audit.WithAuditContext(t.Context())
		if door != "" {
			ctx = withEntry(ctx, &entry{workspace: door, shard: shardName, user: &user.DefaultInfo{Name: "a"}})
		}
		inner := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, nil })
		_, _, _ = doorAuthenticator{inner}.AuthenticateRequest(httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis", nil))
		if got, _ := audit.AuditContextFrom(ctx).GetEventAnnotation("socialweb.computer/workspace"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whom the inner authenticator doesn't know is refused at the door, and noted there
// once, with the reason.
func TestStrangersAtTheDoor(t *testing.T) {
	alice := &authenticator.Response{User: &user.DefaultInfo{Name: "alice"}}
	for name, c := range map[string]struct {
		resp *authenticator.Response
		err  error
	}{
		"known": {alice, nil}, "unknown": {nil, nil}, "refused": {nil, errors.New("no such authority")},
	} {
		inner := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return c.resp, c.resp != nil, c.err })
		e := &entry{workspace: "w1", visit: &visit{remote: "r", path: "/clusters/w1/apis"}}
		ctx, log := logged(t.Context())
		r := httptest.NewRequestWithContext(withEntry(ctx, e), http.MethodGet, "/apis", nil)
		resp, ok, err := doorAuthenticator{inner}.AuthenticateRequest(r)
		if resp != c.resp || ok != (c.resp != nil) || err != nil {
			t.Errorf("%s: %v, %t, %v", name, resp, ok, err)
		}
		var want []string
		if c.resp == nil {
			want = []string{"Refused at a door", `reason="unauthenticated"`, `path="/clusters/w1/apis"`}
		}
		if c.err != nil {
			want = append(want, "no such authority")
		}
		if missing := lacks(log.String(), want); len(missing) > 0 || len(want) == 0 && log.Len() > 0 {
			t.Errorf("%s: the log lacks %q: %s", name, missing, log)
		}
		// By the other door it is the inner one's alone.
		r = httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis", nil)
		if _, ok, err := (doorAuthenticator{inner}).AuthenticateRequest(r); ok != (c.resp != nil) || !errors.Is(err, c.err) {
			t.Errorf("%s, by the other door: %t, %v", name, ok, err)
		}
	}
}

func lacks(text string, parts []string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return strings.Contains(text, p) })
}
