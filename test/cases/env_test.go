package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

const (
	base       = "/apis/socialweb.computer/v1alpha1"
	collection = "computer.socialweb.infra"
)

// env is a server for one test.
type env struct {
	*testdev.Dev
	infras typed.InfraInterface
	http   *http.Client
}

func start(t *testing.T, o testdev.Options) *env {
	t.Helper()
	d := testdev.Start(t, o)
	return connect(t, d)
}

func connect(t *testing.T, d *testdev.Dev) *env {
	t.Helper()
	client, err := rest.HTTPClientFor(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &env{d, d.Client.SocialwebV1alpha1().Infras(), client}
}

// answer of a raw request.
type answer struct {
	code        int
	contentType string
	header      http.Header
	body        []byte
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%v in %.300s", err, a.body)
	}
}

// reason of a Status.
func (a answer) reason(t *testing.T) metav1.StatusReason {
	t.Helper()
	var s metav1.Status
	a.decode(t, &s)
	return s.Reason
}

// do sends a request; headers are "Name: value".
func (e *env) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	resp := e.open(t.Context(), t, method, path, body, headers...)
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header, b}
}

// open sends a request whose body the caller reads and closes.
func (e *env) open(ctx context.Context, t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, e.Config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := e.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
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

func (e *env) settled(t *testing.T, name string) *v1alpha1.Infra {
	t.Helper()
	var last *v1alpha1.Infra
	for range 600 {
		i, err := e.infras.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if i.Status.Record != nil && i.Status.Record.Direction == v1alpha1.DirectionInSync {
			return i
		}
		last = i
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not settle: %+v", name, last.Status)
	return nil
}

func names(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}
