package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// seen is what came through to the inner handler.
type seen struct {
	workspace, path, escaped, query string
	door                            bool
}

// through sends a request to the workspace handler; nil: it was answered there.
func through(t *testing.T, method, target string) (*seen, *httptest.ResponseRecorder) {
	t.Helper()
	var got *seen
	h := doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ws, _ := repostore.WorkspaceFrom(r.Context())
		got = &seen{ws, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, entryFrom(r.Context()) != nil}
	}), Codecs, nil}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return got, w
}

func TestWorkspaceOfAPath(t *testing.T) {
	const infras = "/apis/socialweb.computer/v1alpha1/infras"
	for target, want := range map[string]seen{
		infras + "?watch=1":                  {"default", infras, infras, "watch=1", false},
		"/livez":                             {"default", "/livez", "/livez", "", false},
		"/clusters/w2" + infras + "?limit=5": {"w2", infras, infras, "limit=5", true},
		"/clusters/w2/apis":                  {"w2", "/apis", "/apis", "", true},
		"/clusters/w2/openapi/v3":            {"w2", "/openapi/v3", "/openapi/v3", "", true},
		"/clusters/w2/version":               {"w2", "/version", "/version", "", true},
		"/clusters/*" + infras:               {"*", infras, infras, "", true},
		"/clusters/%2A" + infras:             {"*", infras, infras, "", true},
		"/clusters/%77%32" + infras:          {"w2", infras, infras, "", true},
		"/clusters/w2" + infras + "/%61":     {"w2", infras + "/a", infras + "/%61", "", true},
	} {
		got, w := through(t, http.MethodGet, target)
		if got == nil {
			t.Errorf("%s: answered %d %s", target, w.Code, w.Body)
		} else if *got != want {
			t.Errorf("%s: %+v, want %+v", target, *got, want)
		}
	}
}

func TestPathsThatAreNoWorkspaces(t *testing.T) {
	for target, code := range map[string]int{
		"/clusters/":                                     http.StatusBadRequest,
		"/clusters//apis":                                http.StatusBadRequest,
		"/clusters/../apis":                              http.StatusBadRequest,
		"/clusters/%2e%2e/apis":                          http.StatusBadRequest,
		"/clusters/w1%2Fw2/apis":                         http.StatusBadRequest,
		"/clusters/**/apis":                              http.StatusBadRequest,
		"/clusters/W2/apis":                              http.StatusBadRequest,
		"/clusters/root:org/apis":                        http.StatusBadRequest,
		"/clusters/" + strings.Repeat("a", 64) + "/apis": http.StatusBadRequest,
		"/clusters/w2//apis":                             http.StatusNotFound,
		"/clusters/w2//w3/apis":                          http.StatusNotFound,
		"/clusters/w2":                                   http.StatusNotFound,
		"/clusters/w2/":                                  http.StatusNotFound,
		"/clusters/w2/livez":                             http.StatusNotFound,
		"/clusters/w2/metrics":                           http.StatusNotFound,
		"/clusters/w2/debug/pprof":                       http.StatusNotFound,
		"/clusters/w2/clusters/w3/apis":                  http.StatusNotFound,
		"/clusters/w2/apisx":                             http.StatusNotFound,
	} {
		if got, w := through(t, http.MethodGet, target); got != nil || w.Code != code {
			t.Errorf("%s: through as %+v, answered %d, want %d", target, got, w.Code, code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if got, w := through(t, method, "/clusters/*/apis/socialweb.computer/v1alpha1/infras"); got != nil || w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s in all workspaces: through as %+v, answered %d", method, got, w.Code)
		}
		if got, _ := through(t, method, "/clusters/w2/apis/socialweb.computer/v1alpha1/infras"); got == nil {
			t.Errorf("%s in one workspace was refused", method)
		}
	}
}

// The door is the server's own unless it is opened; it opens nothing that the
// inner authorizer refuses.
func TestDoor(t *testing.T) {
	server := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	for name, c := range map[string]struct {
		open, came bool
		who        user.Info
		inner      authorizer.Authorizer
		want       authorizer.Decision
	}{
		"shut, the other door":         {false, false, &user.DefaultInfo{Name: "alice"}, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionAllow},
		"shut":                         {false, true, &user.DefaultInfo{Name: "alice"}, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionDeny},
		"shut, an admin":               {false, true, &user.DefaultInfo{Name: "a", Groups: server.Groups}, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionDeny},
		"shut, the name alone":         {false, true, &user.DefaultInfo{Name: server.Name}, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionDeny},
		"shut, nobody":                 {false, true, nil, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionDeny},
		"shut, the server":             {false, true, server, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionAllow},
		"open":                         {true, true, &user.DefaultInfo{Name: "alice"}, authorizerfactory.NewAlwaysAllowAuthorizer(), authorizer.DecisionAllow},
		"open, refused within":         {true, true, &user.DefaultInfo{Name: "alice"}, authorizerfactory.NewAlwaysDenyAuthorizer(), authorizer.DecisionDeny},
		"shut, the server, no opinion": {false, true, server, authorizerfactory.NewAlwaysDenyAuthorizer(), authorizer.DecisionNoOpinion},
	} {
		ctx := t.Context()
		if c.came {
			ctx = withEntry(ctx, &entry{workspace: "w2", visit: &visit{}})
		}
		attrs := authorizer.AttributesRecord{User: c.who, Verb: "list"}
		a := doorAuthorizer{c.inner, c.open}
		if got, _, err := a.Authorize(ctx, attrs); got != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
		if d := a.ConditionsAwareAuthorize(ctx, attrs); d.IsAllow() != (c.want == authorizer.DecisionAllow) || d.IsDeny() != (c.want == authorizer.DecisionDeny) {
			t.Errorf("%s, with conditions: %v", name, d)
		}
	}
}
