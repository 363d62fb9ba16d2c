//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// asMaster are the headers by which the front proxy names a user.
var asMaster = []string{"X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Uid: 1", "X-Remote-Extra-Scopes: all"}

// At the server's own port nobody is who they say: headers count with the front
// proxy's certificate alone, and certificates when the cluster's authority signed
// them.
func TestIdentityAtTheOwnPort(t *testing.T) {
	t.Parallel()
	foreign, err := harness.NewAuthority("cluster") // of the same name as the real one
	if err != nil {
		t.Fatal(err)
	}
	proxyOf, err := harness.NewAuthority("front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	nobody := plane.ConfigFor(t, "nobody")
	for name, c := range map[string]struct {
		config *rest.Config
		forged bool
		code   int
		user   string // who the 403 names
	}{
		"nobody at all":                                     {plane.Anonymous(), false, 403, "system:anonymous"},
		"headers alone":                                     {plane.Anonymous(), true, 403, "system:anonymous"},
		"a user of the cluster":                             {nobody, false, 403, "nobody"},
		"a user of the cluster with headers":                {nobody, true, 403, "nobody"},
		"a user called as the front proxy, with headers":    {plane.ConfigFor(t, "front-proxy-client"), true, 403, "front-proxy-client"},
		"a certificate of a foreign authority":              {with(t, foreign, "admin", "system:masters"), false, 401, ""},
		"a certificate of a foreign authority with headers": {with(t, proxyOf, "front-proxy-client"), true, 401, ""},
		"a certificate of our serving authority":            {with(t, plane.ServingAuthority(), "admin", "system:masters"), false, 401, ""},
		"the front proxy's authority, another name":         {plane.ConfigWith(plane.FrontProxy(t, "intruder")), true, 401, ""},
		"the front proxy without headers":                   {plane.ConfigWith(plane.FrontProxy(t, "front-proxy-client")), false, 401, ""},
		"a token that nobody issued":                        {withToken("none"), true, 401, ""},
		"a service account's token":                         {withToken(accountToken(t)), true, 403, "system:serviceaccount:default:default"},
		"an admin of the cluster":                           {plane.Config(), false, 200, ""},
		"the front proxy":                                   {plane.ConfigWith(plane.FrontProxy(t, "front-proxy-client")), true, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, replica := range plane.Replicas {
				caller := newCaller(t, replica.Direct(c.config))
				var headers []string
				if c.forged {
					headers = asMaster
				}
				for _, path := range []string{base + "/infras?limit=1", base + "/atprotorepos?limit=1"} {
					got := caller.ask(t, http.MethodGet, path, "", headers...)
					if got.code != c.code || c.user != "" && !strings.Contains(got.fault.Message, fmt.Sprintf("User %q cannot list resource", c.user)) {
						t.Errorf("%s GET %s: %d %s, want %d", replica.Name, path, got.code, got.body, c.code)
					}
				}
			}
		})
	}
}

// The aggregator passes on who asks, and takes nobody's word for it either.
func TestForgedHeadersThroughTheAggregator(t *testing.T) {
	t.Parallel()
	got := newCaller(t, plane.ConfigFor(t, "nobody")).ask(t, http.MethodGet, base+"/infras", "", asMaster...)
	if got.code != http.StatusForbidden || !strings.Contains(got.body, `User \"nobody\"`) {
		t.Errorf("%d %s", got.code, got.body)
	}
	got = newCaller(t, plane.Anonymous()).ask(t, http.MethodGet, base+"/infras", "", asMaster...)
	if got.code != http.StatusForbidden || !strings.Contains(got.body, `User \"system:anonymous\"`) {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// The port tells strangers whether the server is well, and nothing else.
func TestWhatStrangersSee(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/livez": 200, "/readyz": 200, "/healthz": 200,
		"/metrics": 403, "/openapi/v2": 403, "/openapi/v3": 403, "/apis": 403, base: 403, "/debug/pprof/": 403, "/clusters/w/apis": 403, "/": 403,
	} {
		if got := newCaller(t, plane.Replicas[0].Direct(plane.Anonymous())).ask(t, http.MethodGet, path, ""); got.code != want {
			t.Errorf("%s: %d %s, want %d", path, got.code, got.body, want)
		}
	}
}

func with(t *testing.T, a *harness.Authority, user string, groups ...string) *rest.Config {
	t.Helper()
	pair, err := a.Client(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return plane.ConfigWith(pair)
}

func withToken(token string) *rest.Config {
	c := plane.Anonymous()
	c.BearerToken = token
	return c
}

// accountToken is one of the service account that every namespace has: a controller makes
// it.
func accountToken(t *testing.T) (token string) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		request, err := plane.Admin().Core.CoreV1().ServiceAccounts("default").
			CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err == nil {
			token = request.Status.Token
		}
		return err
	})
	return token
}
