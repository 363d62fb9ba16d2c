package cases

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

const (
	base       = "/apis/socialweb.computer/v1alpha1"
	collection = "computer.socialweb.infra"
)

// server is what a case speaks to.
type server struct {
	// Config of an admin, and a client of it.
	Config *rest.Config
	Client versioned.Interface
	// Repo is the default repository, past the server.
	Repo *atproto.Client
	// restart ends the server and starts it again with the same data.
	restart func(t *testing.T) *server
}

// What the cases run on: dev, or what the build tag e2e puts in its place. begin
// gives a server without objects.
var (
	begin = beginDev
	run   = func(m *testing.M) { testdev.Main(m) }
	onDev = true
)

// devOnly leaves a case out on a control plane, where it has no subject: it asks for a
// path or a user that the aggregator doesn't pass on. Each says which.
func devOnly(t *testing.T, why string) {
	t.Helper()
	if !onDev {
		t.Skip(why)
	}
}

func beginDev(t *testing.T) *server {
	t.Helper()
	return devServer(t, testdev.Options{DataDir: t.TempDir()})
}

func devServer(t *testing.T, o testdev.Options) *server {
	t.Helper()
	d := testdev.Start(t, o)
	return &server{d.Config, d.Client, d.Repo, func(t *testing.T) *server {
		t.Helper()
		d.Stop(t)
		return devServer(t, o)
	}}
}

// env is a server for one test.
type env struct {
	*server
	infras typed.InfraInterface
	http   *http.Client
}

func start(t *testing.T) *env {
	t.Helper()
	return connect(t, begin(t))
}

func connect(t *testing.T, s *server) *env {
	t.Helper()
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &env{s, s.Client.SocialwebV1alpha1().Infras(), client}
}

// answer of a raw request.
type answer struct {
	code        int
	contentType string
	header      http.Header
	body        []byte
	fault       metav1.Status // where it is one
}

// decode reads an answer that is no refusal.
func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := testhttp.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%v in %.300s", err, a.body)
	}
}

// reason of a refusal. The test fails where the answer is none.
func (a answer) reason(t *testing.T) metav1.StatusReason {
	t.Helper()
	if a.fault.Kind == "" {
		t.Fatalf("%d is no refusal: %.300s", a.code, a.body)
	}
	return a.fault.Reason
}

// do sends a request; headers are "Name: value".
func (e *env) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	a, err := e.sender().Do(t.Context(), testhttp.Request{Method: method, Path: path, Body: body, Header: testhttp.Headers(headers...)})
	if err != nil {
		t.Fatal(err)
	}
	return answer{a.Status, a.Header.Get("Content-Type"), a.Header, a.Body, a.Fault}
}

func (e *env) sender() testhttp.Client {
	return testhttp.Client{HTTP: e.http, Server: e.Config.Host}
}

func infra(name string) *v1alpha1.Infra {
	return &v1alpha1.Infra{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InfraSpec{Description: "of " + name, Contracts: []v1alpha1.Contract{{Name: "web"}}},
	}
}

// create makes an Infra and waits until nothing is left to write to its record.
func (e *env) create(t *testing.T, name string) *v1alpha1.Infra {
	t.Helper()
	if _, err := e.infras.Create(t.Context(), infra(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return e.settled(t, name)
}

func (e *env) settled(t *testing.T, name string) (i *v1alpha1.Infra) {
	t.Helper()
	testwait.Until(t, name+" in sync", func() (err error) {
		if i, err = e.infras.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		if i.Status.Record == nil || i.Status.Record.Direction != v1alpha1.DirectionInSync {
			return fmt.Errorf("status %+v", i.Status)
		}
		return nil
	})
	return i
}

func names(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}
