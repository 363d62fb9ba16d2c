package apiserver

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// Whom a shard's request is of.
func TestUsersOfShards(t *testing.T) {
	ca := newAuthority(t, "kcp")
	shard := certificate(t, ca, shardName, nil)
	known := []string{user.AllAuthenticated}
	const workspace = "system:kcp:workspace:w1"
	for name, c := range map[string]struct {
		headers http.Header
		want    user.DefaultInfo // without the extra of ours
	}{
		"nobody is named":         {http.Header{}, user.DefaultInfo{Name: workspace, Groups: known}},
		"groups of nobody":        {http.Header{"X-Remote-Group": {"system:masters"}, "X-Remote-Extra-A": {"b"}}, user.DefaultInfo{Name: workspace, Groups: known}},
		"an empty name":           {http.Header{"X-Remote-User": {""}, "X-Remote-Group": {"g"}}, user.DefaultInfo{Name: workspace, Groups: known}},
		"a token":                 {http.Header{"Authorization": {"Bearer t"}}, user.DefaultInfo{Name: workspace, Groups: known}},
		"a user":                  {http.Header{"X-Remote-User": {"alice"}, "X-Remote-Uid": {"1"}, "X-Remote-Group": {"dev", "ops", known[0]}, "X-Remote-Extra-Authentication.kcp.io%2fscopes": {"cluster:w1"}}, user.DefaultInfo{Name: "alice", UID: "1", Groups: []string{"dev", "ops", known[0]}, Extra: map[string][]string{"authentication.kcp.io/scopes": {"cluster:w1"}}}},
		"a master":                {http.Header{"X-Remote-User": {"kcp-admin"}, "X-Remote-Group": {"system:masters", "system:kcp:admin", "system:nodes", "system:serviceaccounts"}}, user.DefaultInfo{Name: "kcp-admin", Groups: []string{"system:kcp:admin", known[0]}}},
		"the server itself":       {http.Header{"X-Remote-User": {user.APIServerUser}, "X-Remote-Group": {"system:masters"}}, user.DefaultInfo{Name: workspace + ":" + user.APIServerUser, Groups: known}},
		"a service account":       {http.Header{"X-Remote-User": {"system:serviceaccount:kube-system:x"}}, user.DefaultInfo{Name: workspace + ":system:serviceaccount:kube-system:x", Groups: known}},
		"another workspace":       {http.Header{"X-Remote-User": {"system:kcp:workspace:w2"}}, user.DefaultInfo{Name: workspace + ":system:kcp:workspace:w2", Groups: known}},
		"nobody in particular":    {http.Header{"X-Remote-User": {user.Anonymous}, "X-Remote-Group": {user.AllUnauthenticated}}, user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}},
		"where it says it's from": {http.Header{"X-Remote-User": {"alice"}, "X-Remote-Extra-Kcp.io%2fcluster": {"w2"}, "X-Remote-Extra-Kcp.io%2fshard": {"x"}}, user.DefaultInfo{Name: "alice", Groups: known}},
		"with underscores":        {http.Header{"X_remote_user": {"alice"}, "X_Remote_Group": {"g"}}, user.DefaultInfo{Name: workspace, Groups: known}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+"/clusters/w1"+infras, nil)
		r.TLS, r.Header = over(shard), c.headers
		r.Header["Accept"] = []string{"application/json"}
		if c.want.Extra == nil {
			c.want.Extra = map[string][]string{}
		}
		c.want.Extra["kcp.io/shard"], c.want.Extra["kcp.io/cluster"] = []string{shardName}, []string{"w1"}
		through := false
		send(t, doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			through = true
			if len(r.Header) != 1 {
				t.Errorf("%s: headers %v behind the door", name, r.Header)
			}
			resp, ok, err := doorAuthenticator{nil}.AuthenticateRequest(r)
			if err != nil || !ok || !reflect.DeepEqual(resp.User, &c.want) {
				t.Errorf("%s: %+v, %t, %v; want %+v", name, resp, ok, err, c.want)
			}
		}), Codecs, believing(ca)}, r, "")
		if !through {
			t.Errorf("%s: refused", name)
		}
	}
}

// A request that names several users is of nobody.
func TestSeveralUsers(t *testing.T) {
	ca := newAuthority(t, "kcp")
	for _, h := range []http.Header{{"X-Remote-User": {"alice", "bob"}}, {"X-Remote-User": {"alice", "alice"}}, {"X-Remote-User": {"alice"}, "X-Remote-Uid": {"1", "2"}}, {"X-Remote-User": {"", "bob"}}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+"/clusters/w1"+infras, nil)
		r.TLS, r.Header = over(certificate(t, ca, shardName, nil)), h
		if w, _ := send(t, doors{http.NotFoundHandler(), Codecs, believing(ca)}, r, metrics.DoorIdentity); w.Code != 400 {
			t.Errorf("%v: %d", h, w.Code)
		}
	}
}

// Whoever isn't a shard keeps the headers: the stock authenticators know from whom to
// take them.
func TestHeadersOfOthers(t *testing.T) {
	ca := newAuthority(t, "kcp")
	for _, path := range []string{infras, "/clusters/w1" + infras} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.TLS = over(certificate(t, nil, "proxy", nil))
		r.Header.Set("X-Remote-User", "alice")
		send(t, doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Remote-User") != "alice" {
				t.Errorf("%s: headers %v", path, r.Header)
			}
		}), Codecs, believing(ca)}, r, "")
	}
}
