package provider

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
)

func TestShardCertificate(t *testing.T) {
	type said struct {
		code int
		body string
	}
	var now atomic.Pointer[said]
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/services/infra/clusters/%2A/apis/socialweb.computer/v1alpha1" || len(r.TLS.PeerCertificates) != 1 {
			t.Errorf("it was asked for %s with %d certificates", r.RequestURI, len(r.TLS.PeerCertificates))
		}
		w.WriteHeader(now.Load().code)
		_, _ = io.WriteString(w, now.Load().body)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	o := Options{
		URLs: []string{s.URL + "/services/infra"}, Config: &rest.Config{}, ShardCertificate: &s.TLS.Certificates[0],
		Authorities: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	for name, c := range map[string]struct {
		said
		want string
	}{
		"our kinds":         {said{200, `{"kind":"APIResourceList","groupVersion":"socialweb.computer/v1alpha1","resources":[{"name":"infras"}]}`}, ""},
		"others' kinds":     {said{200, `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments"}]}`}, "something that isn't ours"},
		"a page":            {said{200, "<html></html>"}, "something that isn't ours"},
		"another authority": {said{403, cause(403, door.CauseShardsOnly)}, "--kcp-shard-client-ca-file that has the authority"},
		"another name":      {said{403, cause(403, door.CauseName)}, "--kcp-shard-allowed-names"},
		"another prefix":    {said{403, cause(403, door.CauseElsewhere)}, `--kcp-path-prefix="/services/infra"`},
		"nobody's":          {said{401, ""}, "refuses the shard"},
		"forbidden":         {said{403, ""}, "--kcp-shard-allowed-names"},
		"not there":         {said{404, ""}, "answers a shard's discovery with 404"},
		"away":              {said{503, ""}, "with 503"},
	} {
		now.Store(&c.said)
		r := &Report{}
		if err := o.checkShardCertificate(t.Context(), r); err != nil || len(r.Unknown) > 0 {
			t.Errorf("%s: %v, %v", name, err, r.Unknown)
		}
		if (c.want == "") != (len(r.Faults) == 0) || c.want != "" && !strings.Contains(r.Faults[0].Fault+r.Faults[0].Remedy, c.want) {
			t.Errorf("%s: %v", name, r.Faults)
		}
	}
	r := &Report{}
	o.URLs[0] = "https://127.0.0.1:1/services/infra"
	if err := o.checkShardCertificate(t.Context(), r); err != nil || len(r.Unknown) != 1 || len(r.Faults) > 0 {
		t.Errorf("nobody there: %v, %+v", err, r)
	}
	o.ShardCertificate, r = nil, &Report{}
	if err := o.checkShardCertificate(t.Context(), r); err != nil || len(r.Faults) > 0 ||
		len(r.Unknown) != 1 || !strings.Contains(r.Unknown[0].Fault, "wasn't tried") || !strings.Contains(r.Unknown[0].Remedy, "--shard-client-cert-file=FILE") {
		t.Errorf("without a certificate: %v, %+v", err, r)
	}
}
