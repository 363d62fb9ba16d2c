package cases

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// Health is open to everybody who reaches the port, and nothing else is.
func TestWithoutCredentials(t *testing.T) {
	devOnly(t, "a cluster lets its anonymous user see more")
	e := start(t)
	anonymous := *e
	anonymous.http = anonymousClient(t, e.Config)
	for path, want := range map[string]int{
		"/livez": 200, "/readyz": 200, "/healthz": 200,
		"/livez/ingest": 401, "/readyz?verbose": 200, base + "/infras": 401, "/metrics": 401, "/openapi/v2": 401, "/version": 401, "/clusters/w2/apis": 401,
	} {
		if a := anonymous.do(t, "GET", path, ""); a.code != want {
			t.Errorf("%s: %d, want %d", path, a.code, want)
		}
	}
	for _, check := range []string{"/livez/ingest", "/readyz/repositories", "/readyz/etcd", "/metrics"} {
		if a := e.do(t, "GET", check, ""); a.code != 200 {
			t.Errorf("%s: %d %s", check, a.code, a.body)
		}
	}
}

// The door of the workspaces is shut unless a flag opens it.
func TestWorkspacesAreShut(t *testing.T) {
	devOnly(t, ownPaths)
	e := start(t)
	for _, path := range []string{"/clusters/w1" + base + "/infras", "/clusters/*" + base + "/infras", "/clusters/default/apis"} {
		if a := e.do(t, "GET", path, ""); a.code != 403 {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
}

func anonymousClient(t *testing.T, c *rest.Config) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
