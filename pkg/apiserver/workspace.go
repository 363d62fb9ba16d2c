package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

const clustersPrefix = "/clusters/"

// withWorkspace is the outermost handler: it puts the request's workspace into
// its context. /apis/… is the default workspace; /clusters/<workspace>/apis/… is
// the named one, or all of them as "*" (which comes as %2A too). Below it the
// request looks as if it had come to /apis/…; who may come by the second door is
// doorAuthorizer's to say.
func withWorkspace(next http.Handler, codecs runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if !strings.HasPrefix(escaped, clustersPrefix) {
			next.ServeHTTP(w, r.WithContext(repostore.WithWorkspace(r.Context(), repostore.DefaultWorkspace)))
			return
		}
		ws, inner, err := splitWorkspace(escaped, r.Method)
		if err != nil {
			responsewriters.ErrorNegotiated(err, codecs, schema.GroupVersion{Version: "v1"}, w, r)
			return
		}
		r2 := r.Clone(throughDoor(r.Context(), ws))
		r2.URL.Path, r2.URL.RawPath = inner.Path, inner.RawPath
		next.ServeHTTP(w, r2)
	})
}

// splitWorkspace takes /clusters/<workspace> off an escaped path.
func splitWorkspace(escaped, method string) (ws string, inner *url.URL, err error) {
	segment, rest, _ := strings.Cut(strings.TrimPrefix(escaped, clustersPrefix), "/")
	ws, uerr := url.PathUnescape(segment)
	switch {
	case uerr != nil || (ws != repostore.AllWorkspaces && !repostore.ValidWorkspace(ws)):
		return "", nil, apierrors.NewBadRequest("the path names no workspace: a lower case DNS label, or *")
	case ws == repostore.AllWorkspaces && method != http.MethodGet && method != http.MethodHead:
		return "", nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "clusters/*"}, strings.ToLower(method))
	}
	inner, uerr = url.ParseRequestURI("/" + rest) // as a path: to Parse, "//x/apis" is a host
	if uerr != nil || !servedInWorkspace(inner.Path) {
		return "", nil, apierrors.NewGenericServerResponse(http.StatusNotFound, method, schema.GroupResource{}, "", "", 0, true)
	}
	return ws, inner, nil
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
