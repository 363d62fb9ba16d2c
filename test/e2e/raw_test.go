//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

const (
	base       = "/apis/socialweb.computer/v1alpha1"
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// caller sends plain requests as one user.
type caller struct{ testhttp.Client }

func newCaller(t *testing.T, c *rest.Config) caller {
	t.Helper()
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	return caller{testhttp.Client{HTTP: client, Server: c.Host}}
}

// reply to a plain request.
type reply struct {
	code   int
	header http.Header
	body   string
	fault  metav1.Status // where it is one
}

// ask sends a request; headers are "Name: value".
func (c caller) ask(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := c.try(t, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// try is ask where no answer may come.
func (c caller) try(t *testing.T, method, path, body string, headers ...string) (reply, error) {
	t.Helper()
	a, err := c.Do(t.Context(), testhttp.Request{Method: method, Path: path, Body: body, Header: testhttp.Headers(headers...)})
	return reply{a.Status, a.Header, string(a.Body), a.Fault}, err
}

// begin is ask where what matters is whether the request is let in: of a success, which a
// watch goes on with, the body isn't read.
func (c caller) begin(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	resp, err := c.Open(t.Context(), testhttp.Request{Method: method, Path: path, Body: body, Header: testhttp.Headers(headers...)})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		_ = resp.Body.Close()
		return reply{code: resp.StatusCode, header: resp.Header}
	}
	a, err := testhttp.Read(resp)
	if err != nil {
		t.Fatal(err)
	}
	return reply{a.Status, a.Header, string(a.Body), a.Fault}
}

// kind is one of ours, for cases that each of them has to pass.
type kind struct {
	name, resource, short string
	// spec of an object, and a field of it with two more values.
	spec           string
	field          string
	other, another string
}

// kinds are all of ours. The AtprotoRepo is one that is never connected to, and the
// collections are of none.
var kinds = append([]kind{
	{"Infra", "infras", "inf", `{"description":"one","contracts":[{"name":"web"}]}`, "description", `"two"`, `"three"`},
	{"EphemeralInfra", "ephemeralinfras", "einf", `{"description":"one","ttlSeconds":3600,"contracts":[{"name":"web"}]}`, "description", `"two"`, `"three"`},
	{"AtprotoRepo", "atprotorepos", "arepo", `{"did":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","access":"None","eventSource":"Firehose"}`, "eventSource", `"Poll"`, `"Firehose"`},
}, plainKinds...)

// plainKinds are those of which etcd alone keeps the objects. A ComputeContract changes
// once.
var plainKinds = []kind{
	{"InfraCollection", "infracollections", "infcol", `{"repoRef":{"name":"none"}}`, "maxItems", "7", "8"},
	{"EphemeralInfraCollection", "ephemeralinfracollections", "einfcol", `{"repoRef":{"name":"none"}}`, "maxItems", "7", "8"},
	{"ComputeContract", "computecontracts", "cc", `{"image":"one"}`, "release", "true", "true"},
}

// manifest of an object of the kind; more goes into its metadata.
func (k kind) manifest(name string, more ...string) string {
	metadata := strings.Join(append([]string{fmt.Sprintf(`"name":%q`, name)}, more...), ",")
	return fmt.Sprintf(`{"apiVersion":"socialweb.computer/v1alpha1","kind":%q,"metadata":{%s},"spec":%s}`, k.name, metadata, k.spec)
}
