package export_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/testkcp"
)

func newClient(t *testing.T, c *rest.Config) *export.Client {
	t.Helper()
	client, err := export.New(c, testkcp.Export)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	return client
}

// An export that claims apibindings is shown those of other exports too, and of exports of
// its name elsewhere. Only its own count.
func TestOtherExportsBindings(t *testing.T) {
	k := testkcp.Start(t, 1)
	k.Shard(0).Bind("w", true)
	binding := func(name, export, cluster string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"reference":{"export":{"name":%q}}},"status":{"apiExportClusterName":%q}}`, name, export, cluster)
	}
	k.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/apibindings") {
			return false
		}
		fmt.Fprintf(w, `{"kind":"APIBindingList","items":[%s]}`, strings.Join([]string{
			binding("ours", testkcp.Export, testkcp.Provider), binding("beginning", testkcp.Export, ""),
			binding("elsewhere", testkcp.Export, "2other"), binding("another", "widgets", testkcp.Provider), `{"metadata":{"name":"none"}}`,
		}, ","))
		return true
	})
	client := newClient(t, k.Config)
	all, err := client.BindingsIn(t.Context(), k.Shard(0).URL(), export.AllWorkspaces)
	if err != nil || len(all) != 2 || all[0].Name != "ours" || all[1].Name != "beginning" {
		t.Errorf("%+v, %v", all, err)
	}
	if got := client.Provider(k.Shard(0).URL()); got != testkcp.Provider {
		t.Errorf("provider %q", got)
	}
	if got := client.Provider("https://kcp.example/services/other"); got != "" {
		t.Errorf("provider of another address %q", got)
	}
}

// The server's name of a kubeconfig is that of its own server: a shard has another.
func TestServerNameIsTheKubeconfigsOwn(t *testing.T) {
	k := testkcp.Start(t, 1)
	k.Shard(0).Bind("w", true)
	c := rest.CopyConfig(k.Config)
	c.ServerName = "example.com" // the certificate is for that too
	client := newClient(t, c)
	slice, err := client.Slice(t.Context())
	if err != nil || len(slice.URLs) != 1 || slice.Incomplete != nil {
		t.Fatalf("%+v, %v", slice, err)
	}
	if all, err := client.BindingsIn(t.Context(), slice.URLs[0], "w"); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	c.ServerName = "kcp.example"
	if _, err := newClient(t, c).Slice(t.Context()); err == nil {
		t.Error("a certificate of another name was accepted")
	}
	if _, err := newClient(t, &rest.Config{Host: k.Config.Host, BearerToken: testkcp.Token}).Slice(t.Context()); err == nil {
		t.Error("a certificate of nobody was accepted")
	}
}

// A refusal keeps what the server said; one that it didn't write says so; and what is no
// refusal is in no error.
func TestErrors(t *testing.T) {
	k := testkcp.Start(t, 1)
	client := newClient(t, k.Config)
	const secret = "hunter2"
	for _, c := range []struct {
		name  string
		f     func(http.ResponseWriter)
		is    func(error) bool
		ours  bool
		wants string
	}{
		{"refused", func(w http.ResponseWriter) {
			testkcp.Refuse(w, apierrors.NewForbidden(metav1.SchemeGroupVersion.WithResource("x").GroupResource(), "n", errors.New("denied")))
		}, apierrors.IsForbidden, false, "denied"},
		{"a proxy's", func(w http.ResponseWriter) { http.Error(w, secret, http.StatusNotFound) }, apierrors.IsNotFound, true, ""},
		{"a proxy's own status", func(w http.ResponseWriter) {
			http.Error(w, `{"kind":"Status","status":"Failure","code":404}`, http.StatusBadGateway)
		}, nil, true, ""},
		{"no JSON", func(w http.ResponseWriter) { fmt.Fprint(w, secret) }, nil, false, "isn't the JSON"},
		{"other JSON", func(w http.ResponseWriter) { fmt.Fprintf(w, `{"a":%q}`, secret) }, nil, false, "isn't the JSON"},
		{"too much", func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 33<<20)) }, nil, false, "larger than"},
	} {
		k.Fail(func(w http.ResponseWriter, _ *http.Request) bool {
			c.f(w)
			return true
		})
		var into struct{ A int }
		err := client.Get(t.Context(), k.Shard(0).URL()+"/x", &into)
		if err == nil || c.is != nil && !c.is(err) || !strings.Contains(err.Error(), c.wants) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.name, err)
		}
		if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) != c.ours {
			t.Errorf("%s: of the server itself: %t", c.name, !c.ours)
		}
	}
	if _, err := export.New(k.Config, "A/b"); err == nil {
		t.Error("an export of no name was accepted")
	}
}
