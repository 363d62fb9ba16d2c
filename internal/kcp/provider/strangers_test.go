package provider

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
)

// answers is a TLS server that answers with a code and a body; its authority beside.
func answers(t *testing.T, code int, body string, change func(*httptest.Server)) (url string, authority []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/services/infra/clusters/"+probeWorkspace+groupPath || r.Header.Get("Authorization") != "" {
			t.Errorf("it was asked for %s", r.URL.Path)
		}
		w.Header().Set("Location", "https://elsewhere.invalid/")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of strangers who hang up
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL + "/services/infra", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// refusal is what an API server without our door says of a path.
func refusal(t *testing.T, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r = r.WithContext(request.WithRequestInfo(r.Context(), &request.RequestInfo{Path: path, Verb: "get"}))
	w := httptest.NewRecorder()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	responsewriters.Forbidden(authorizer.AttributesRecord{User: &user.DefaultInfo{Name: user.Anonymous}, Verb: "get", Path: path}, w, r, "", serializer.NewCodecFactory(scheme))
	return w.Body.String()
}

// cause is a refusal of our door.
func cause(code int, c metav1.CauseType) string {
	b, err := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Details: door.Details(c),
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestStrangers(t *testing.T) {
	mutual := func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} }
	const notKnown = "whether this server's door is at https://127.0.0.1:"
	for name, c := range map[string]struct {
		code           int
		body           string
		change         func(*httptest.Server)
		fault, unknown string
	}{
		"the door":                    {code: 401, body: cause(401, door.CauseShardsOnly)},
		"the door, to a certificate":  {code: 403, body: cause(403, door.CauseShardsOnly)},
		"an API server":               {code: 403, body: refusal(t, "/services/infra/clusters/"+probeWorkspace+groupPath), fault: "has no door for shards there"},
		"of another path":             {code: 403, body: refusal(t, "/apis"), unknown: notKnown},
		"unauthenticated":             {code: 401, body: cause(401, "Other"), unknown: notKnown},
		"forbidden, by somebody else": {code: 403, body: "<html>No</html>", unknown: notKnown},
		"no answer at all":            {code: 200, change: mutual, unknown: "who shows no certificate gets no answer"},
		"lets them in":                {code: 200, fault: "answers whoever asks"},
		"somebody else":               {code: 404, fault: "answers a stranger with 404"},
		"leads elsewhere":             {code: 302, fault: "answers a stranger with 302"},
		"is away":                     {code: 503, fault: "answers a stranger with 503"},
	} {
		url, authority := answers(t, c.code, c.body, c.change)
		o := Options{URLs: []string{url}, Authorities: authority, Config: &rest.Config{}}
		expect(t, name, &o, c.fault, c.unknown)
		if c.unknown != "" { // a shard's certificate is tried instead
			o.ShardCertificate = &tls.Certificate{}
			expect(t, name+", with a shard's certificate", &o, "", "")
		}
	}

	ours := cause(401, door.CauseShardsOnly)
	url, authority := answers(t, 401, ours, nil)
	_, other := answers(t, 401, ours, nil)
	expect(t, "authority of the kubeconfig", &Options{URLs: []string{url}, Config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: authority}}}, "", "")
	expect(t, "no authority of ours", &Options{URLs: []string{url}, Config: &rest.Config{}}, "", "unknown authority")
	// All httptest servers have the same certificate: it is for 127.0.0.1 and example.com.
	expect(t, "another name", &Options{URLs: []string{strings.Replace(url, "127.0.0.1", "localhost", 1)}, Authorities: other, Config: &rest.Config{}}, "", "for other names")
	expect(t, "nobody there", &Options{URLs: []string{"https://127.0.0.1:1/services/infra"}, Authorities: other, Config: &rest.Config{}}, "", "isn't to be reached")

	r := &Report{}
	if err := (&Options{Authorities: []byte("nonsense"), Config: &rest.Config{}}).checkStrangers(t.Context(), r); err == nil {
		t.Error("nonsense is an authority")
	}
}

// expect a fault, or something that isn't known, with a part of it; or neither.
func expect(t *testing.T, name string, o *Options, fault, unknown string) {
	t.Helper()
	r := &Report{}
	if err := o.checkStrangers(t.Context(), r); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for part, found := range map[string][]Finding{"fault " + fault: r.Faults, "unknown " + unknown: r.Unknown} {
		_, want, _ := strings.Cut(part, " ")
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("%s: %v", name, found)
		case want != "" && (len(found) != 1 || !strings.Contains(found[0].Fault, want) || found[0].Remedy == ""):
			t.Errorf("%s: %s: %v", name, part, found)
		}
	}
}
