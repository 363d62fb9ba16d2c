package etcdcerts

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) { testleak.Main(m) }

// setup is a cluster with the two empty Secrets.
func setup(t *testing.T) (Options, *fake.Clientset, *clocktesting.FakePassiveClock) {
	t.Helper()
	client := fake.NewClientset()
	for _, name := range []string{"server", "client"} {
		if err := client.Tracker().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	return Options{
		Client: client, Namespace: "ns", ServerSecret: "server", ClientSecret: "client",
		Names: []string{"etcd.ns.svc", "etcd"}, Dir: t.TempDir(), Clock: clock,
	}, client, clock
}

func data(t *testing.T, client *fake.Clientset, name string) map[string][]byte {
	t.Helper()
	s, err := client.CoreV1().Secrets("ns").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Data
}

func updates(client *fake.Clientset) (n int) {
	for _, a := range client.Actions() {
		if a.GetVerb() == "update" {
			n++
		}
	}
	return n
}

// With what it wrote the two sides accept each other, and nobody else.
func TestBothSidesAgree(t *testing.T) {
	o, client, _ := setup(t)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(read("ca.crt"))
	own, err := tls.X509KeyPair(read("tls.crt"), read("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()

	shown := data(t, client, "client")
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, []string{"ca.crt", "tls.crt", "tls.key"}) {
		t.Errorf("the API server reads %v", got)
	}
	mine, err := tls.X509KeyPair(shown["tls.crt"], shown["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		certs []tls.Certificate
		name  string
		ok    bool
	}{
		"as the API server": {[]tls.Certificate{mine}, "etcd.ns.svc", true},
		"short name":        {[]tls.Certificate{mine}, "etcd", true},
		"in the pod":        {[]tls.Certificate{own}, "127.0.0.1", true},
		"another name":      {[]tls.Certificate{mine}, "other", false},
		"nobody":            {nil, "etcd.ns.svc", false},
	} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: c.certs, ServerName: c.name, MinVersion: tls.VersionTLS12}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		transport.CloseIdleConnections()
	}
	if st, err := os.Stat(filepath.Join(o.Dir, "tls.key")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", st, err)
	}
}

// What is good stays; what is missing, broken or near its end is made anew, and no
// more than that.
func TestWhatIsMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *Options, server, client map[string][]byte)
		later  time.Duration
		want   []string // what has changed
	}{
		{"nothing", nil, 0, nil},
		{"years later", nil, lifetime - renewal - time.Hour, nil},
		{"near the end", nil, lifetime - renewal + time.Hour, []string{"ca", "server", "client"}},
		{"the client's key lost", func(_ *Options, _, client map[string][]byte) { delete(client, "tls.key") }, 0, []string{"client"}},
		{"the client of another authority", func(_ *Options, server, client map[string][]byte) { maps.Copy(client, alien(server)) }, 0, []string{"client"}},
		{"the server's broken", func(_ *Options, server, _ map[string][]byte) { server["tls.crt"] = []byte("x") }, 0, []string{"server"}},
		{"another name", func(o *Options, _, _ map[string][]byte) { o.Names = []string{"new"} }, 0, []string{"server"}},
		{"the authority's key lost", func(_ *Options, server, _ map[string][]byte) { delete(server, "ca.key") }, 0, []string{"ca", "server", "client"}},
		{"a key of another kind", func(_ *Options, server, _ map[string][]byte) { server["ca.key"] = server["tls.key"] }, 0, []string{"ca", "server", "client"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, client, clock := setup(t)
			if _, err := Ensure(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			server, shown := maps.Clone(data(t, client, "server")), maps.Clone(data(t, client, "client"))
			before := []map[string][]byte{maps.Clone(server), maps.Clone(shown)}
			if c.change != nil {
				c.change(&o, server, shown)
				for name, d := range map[string]map[string][]byte{"server": server, "client": shown} {
					s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: d}
					if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), s, "ns"); err != nil {
						t.Fatal(err)
					}
				}
			}
			clock.SetTime(clock.Now().Add(c.later))
			writes := updates(client)
			if _, err := Ensure(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			var got []string
			after := data(t, client, "server")
			for name, same := range map[string]bool{
				"ca":     bytes.Equal(after["ca.crt"], before[0]["ca.crt"]),
				"server": bytes.Equal(after["tls.crt"], before[0]["tls.crt"]),
				"client": bytes.Equal(data(t, client, "client")["tls.crt"], before[1]["tls.crt"]),
			} {
				if !same {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("changed: %v, want %v", got, c.want)
			}
			if c.change == nil && c.want == nil && updates(client) != writes {
				t.Error("a Secret was written for nothing")
			}
		})
	}
}

// alien is a client certificate of another authority.
func alien(map[string][]byte) map[string][]byte {
	ca, err := newAuthority(time.Now())
	if err != nil {
		panic(err)
	}
	leaf, err := newClient(time.Now(), ca)
	if err != nil {
		panic(err)
	}
	files, err := files(leaf, ca)
	if err != nil {
		panic(err)
	}
	return files
}

// Somebody who writes in between doesn't stop it.
func TestConflict(t *testing.T) {
	o, client, _ := setup(t)
	lost := 0
	client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lost++; lost > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), "server", errors.New("changed"))
	})
	if _, err := Ensure(t.Context(), o); err != nil || lost < 3 {
		t.Errorf("error %v after %d", err, lost)
	}
}

// A cluster that has nothing yet is waited for, and no longer than ctx.
func TestRunWaits(t *testing.T) {
	o, client, _ := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if tries++; tries == 2 {
			cancel()
		}
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "server", errors.New("no"))
	})
	if err := Run(ctx, o); !errors.Is(err, context.Canceled) || tries < 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
	o.Dir = filepath.Join(o.Dir, "missing")
	client.ReactionChain = client.ReactionChain[1:]
	if err := Run(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that isn't there: %v", err)
	}
}

func TestValidate(t *testing.T) {
	err := Options{}.Validate()
	for _, flag := range []string{"--namespace", "--server-secret", "--client-secret", "--names", "--dir"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v lacks %s", err, flag)
		}
	}
	o, _, _ := setup(t)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.ClientSecret = o.ServerSecret
	if err := o.Validate(); err == nil {
		t.Error("one Secret for both was accepted")
	}
}
