package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

const clustersPrefix = "/clusters/"

// doors is the outermost handler: it puts the request's workspace into its context.
// /apis/… is the default workspace; /clusters/<workspace>/apis/… is the named one, or
// all of them as "*" (which comes as %2A too). Below it the request looks as if it had
// come to /apis/…; who may come by /clusters/… is doorAuthorizer's to say.
type doors struct {
	next   http.Handler
	codecs runtime.NegotiatedSerializer
	kcp    *kcpDoor // nil: shut
}

// ServeHTTP implements http.Handler.
func (d doors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{remote: r.RemoteAddr, path: r.URL.EscapedPath()}
	c := d.kcp.identify(r)
	v.cn = c.cn
	e, inner, refused := d.enter(r, v, c)
	if refused != nil {
		refused.answer(w, r, d.codecs)
		return
	}
	ctx := r.Context()
	if appends(r) { // whichever door it came by
		ctx = repostore.Once(ctx)
	}
	if c.known && c.masters && !c.shard {
		ctx = withoutMasters(ctx, v)
	}
	if e == nil {
		d.next.ServeHTTP(w, r.WithContext(repostore.WithWorkspace(ctx, repostore.DefaultWorkspace)))
		return
	}
	r2 := r.Clone(withEntry(ctx, e))
	r2.URL.Path, r2.URL.RawPath = inner.Path, inner.RawPath
	if c.shard {
		removeIdentity(r2.Header)
	}
	d.next.ServeHTTP(w, r2)
}

// enter decides about a request. Without an entry and a refusal it came by neither
// door.
func (d doors) enter(r *http.Request, v *visit, c caller) (*entry, *url.URL, *refusal) {
	rest, atPrefix, atDoor := d.kcp.cut(v.path)
	if refused := d.kcp.admit(c, atPrefix, atDoor); refused != nil {
		return nil, nil, refused
	}
	if !atDoor {
		return nil, nil, nil
	}
	ws, inner, err := splitWorkspace(rest, r.Method)
	if err != nil {
		return nil, nil, refuse(metrics.DoorPath, c, err)
	}
	e := &entry{workspace: ws, visit: v}
	if c.shard {
		if refused := d.kcp.enter(e, c, r); refused != nil {
			return nil, nil, refused
		}
	}
	return e, inner, nil
}

// splitWorkspace takes <workspace> off what follows /clusters/ in an escaped path.
func splitWorkspace(rest, method string) (ws string, inner *url.URL, err error) {
	segment, rest, _ := strings.Cut(rest, "/")
	ws, uerr := url.PathUnescape(segment)
	switch {
	case uerr != nil || (ws != repostore.AllWorkspaces && !repostore.ValidWorkspace(ws)):
		return "", nil, apierrors.NewBadRequest("the path names no workspace: a lower case DNS label, or *")
	case ws == repostore.AllWorkspaces && method != http.MethodGet && method != http.MethodHead:
		return "", nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "clusters/*"}, strings.ToLower(method))
	}
	if err := checkSegments(rest, method); err != nil {
		return "", nil, err
	}
	inner, uerr = url.ParseRequestURI("/" + rest) // as a path: to Parse, "//x/apis" is a host
	if uerr != nil || !servedInWorkspace(inner.Path) {
		return "", nil, notFound(method)
	}
	return ws, inner, nil
}

// checkSegments wants each segment of an escaped path to be one segment whoever
// decodes it, once or twice: no name of an object has what it refuses.
func checkSegments(escaped, method string) error {
	for s := range strings.SplitSeq(escaped, "/") {
		if s == "" {
			return notFound(method)
		}
		d, err := url.PathUnescape(s)
		if err != nil || d == "." || d == ".." || strings.ContainsAny(d, `/\%`) || strings.ContainsFunc(d, isControl) {
			return apierrors.NewBadRequest("the path has a segment that is no name")
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func notFound(method string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, method, schema.GroupResource{}, "", "", 0, true)
}

// servedInWorkspace are the paths that a workspace has: the API and its
// description. The server's own (health, metrics, profiles) have one door.
func servedInWorkspace(path string) bool {
	for _, p := range []string{"/api", "/apis", "/openapi", "/version"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}
