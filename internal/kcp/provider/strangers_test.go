package provider

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// door is a TLS server that answers with a code; its authority beside.
func door(t *testing.T, code int, change func(*httptest.Server)) (url string, authority []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/services/infra/clusters/"+probeWorkspace+"/apis/socialweb.computer/v1alpha1" || r.Header.Get("Authorization") != "" {
			t.Errorf("it was asked for %s", r.URL.Path)
		}
		w.Header().Set("Location", "https://elsewhere.invalid/")
		w.WriteHeader(code)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of strangers who hang up
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL + "/services/infra", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestStrangers(t *testing.T) {
	mutual := func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} }
	for name, c := range map[string]struct {
		code           int
		change         func(*httptest.Server)
		fault, unknown string
	}{
		"unauthenticated":  {code: 401},
		"forbidden":        {code: 403},
		"no answer at all": {code: 200, change: mutual},
		"lets them in":     {code: 200, fault: "answers whoever asks"},
		"somebody else":    {code: 404, fault: "answers a stranger with 404"},
		"leads elsewhere":  {code: 302, fault: "answers a stranger with 302"},
		"is away":          {code: 503, fault: "answers a stranger with 503"},
	} {
		url, authority := door(t, c.code, c.change)
		o := Options{URLs: []string{url}, Authorities: authority, Config: &rest.Config{}}
		expect(t, name, &o, c.fault, c.unknown)
	}

	url, authority := door(t, 403, nil)
	_, other := door(t, 403, nil)
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
