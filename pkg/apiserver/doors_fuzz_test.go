package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

var (
	doorPath = regexp.MustCompile(`^(/services/infra)?/clusters/([^/]*)(/.*)$`)
	label    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

// FuzzDoors: whatever comes through is in exactly the workspace that its one cluster
// segment names, and its path behind the door is plain: no dot or empty segments, none
// that is several once it is decoded again. Whatever came by no door is in the default
// workspace, with its path as it was, and isn't a shard's.
func FuzzDoors(f *testing.F) {
	for _, p := range []string{
		"/services/infra/clusters/w1/apis/socialweb.computer/v1alpha1/infras/a/status?watch=1", "/clusters/w1/apis", "/clusters/%2A/apis", "/clusters/*/openapi/v3",
		"/apis", "/apis/../clusters/w2/apis", "/services/infra/clusters/w1/../w2/apis", "/services/infra/clusters/w1/apis/%2e%2e/%2e%2e/w2/apis", "/services/infra/clusters/..%2fw2/apis",
		"/services/infra/clusters/w1%2Fapis%2Fx/apis", "/services/infra/clusters/%2577%2531/apis", "/services/infra//clusters/w1/apis", "//services/infra/clusters/w1/apis", "/services/infra/clusters/w1//apis",
		"/services/infra/clusters/w1/clusters/w2/apis", "/clusters/w1/services/infra/clusters/w2/apis", "/%63lusters/w1/apis", "/services%2Finfra/clusters/w1/apis", "/clusters/w1/apis/;/a", "/clusters/W1/apis",
		"/clusters/default/apis", "/clusters/w1/apis/a%00b", "/clusters/w1/apis/a%5C..%5Cb", "/clusters/w1/apis/a%252Fb", "/clusters/w1/apis#/../x", "https://clusters/w1/apis", "/clusters/xn--a/apis/é", "*",
	} {
		f.Add(p, true)
		f.Add(p, false)
	}
	ca := newAuthority(f, "kcp")
	shard, door := over(certificate(f, ca, shardName, nil)), believing(ca)
	f.Fuzz(func(t *testing.T, target string, asShard bool) {
		u, err := url.ParseRequestURI(target) // as the server of HTTP reads it
		if err != nil {
			return
		}
		sent := u.EscapedPath()
		r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, RemoteAddr: "r"}
		if asShard {
			r.TLS = shard
		}
		var came *http.Request
		w := httptest.NewRecorder()
		ctx, lines := logged(t.Context())
		doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came = r }), Codecs, door}.ServeHTTP(w, r.WithContext(ctx))
		if came == nil {
			if w.Code < 400 || strings.Count(lines.String(), "\n") != 1 {
				t.Fatalf("%q: answered %d, logged %s", sent, w.Code, lines)
			}
			return
		}
		ws, ok := repostore.WorkspaceFrom(came.Context())
		if !ok {
			t.Fatalf("%q: in no workspace", sent)
		}
		if entryFrom(came.Context()) == nil {
			if asShard || ws != repostore.DefaultWorkspace || came.URL.EscapedPath() != sent || doorPath.MatchString(sent) {
				t.Fatalf("%q: came to %q in %s, shard: %t", sent, came.URL, ws, asShard)
			}
			return
		}
		inDoor(came.Context(), t, sent, ws, came.URL, asShard)
	})
}

func inDoor(ctx context.Context, t *testing.T, sent, ws string, inner *url.URL, asShard bool) {
	t.Helper()
	parts := doorPath.FindStringSubmatch(sent)
	if parts == nil {
		t.Fatalf("%q: no path of a workspace, in %s", sent, ws)
	}
	if name, err := url.PathUnescape(parts[2]); err != nil || name != ws || ws != "*" && (!label.MatchString(ws) || len(ws) > 63) {
		t.Fatalf("%q: in %q, %v", sent, ws, err)
	}
	if e := entryFrom(ctx); (e.shard != "") != asShard || !asShard && parts[1] != "" || asShard && ws == repostore.DefaultWorkspace || e.workspace != ws {
		t.Fatalf("%q: %+v, a shard: %t", sent, e, asShard)
	}
	again, err := url.PathUnescape(inner.Path)
	if inner.EscapedPath() != parts[3] || err != nil || again != inner.Path || path.Clean(inner.Path) != inner.Path ||
		strings.Count(inner.Path, "/") != strings.Count(parts[3], "/") || strings.ContainsAny(inner.Path, "\\\x00\r\n") {
		t.Fatalf("%q: path %q", sent, inner.Path)
	}
	if segments := strings.Split(inner.Path, "/")[1:]; slices.Contains(segments, "") || !slices.Contains([]string{"api", "apis", "openapi", "version"}, segments[0]) {
		t.Fatalf("%q: segments %q", sent, segments)
	}
}
