package provider

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

func TestShardCertificate(t *testing.T) {
	var code atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/services/infra/clusters/%2A/apis/socialweb.computer/v1alpha1" || len(r.TLS.PeerCertificates) != 1 {
			t.Errorf("it was asked for %s with %d certificates", r.RequestURI, len(r.TLS.PeerCertificates))
		}
		w.WriteHeader(int(code.Load()))
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	o := Options{
		URLs: []string{s.URL + "/services/infra"}, Config: &rest.Config{}, ShardCertificate: &s.TLS.Certificates[0],
		Authorities: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	for status, want := range map[int]string{200: "", 401: "refuses the shard", 403: "--kcp-shard-allowed-names", 404: "answers a shard's discovery with 404", 503: "with 503"} {
		code.Store(int32(status))
		r := &Report{}
		if err := o.checkShardCertificate(t.Context(), r); err != nil || len(r.Unknown) > 0 {
			t.Errorf("%d: %v, %v", status, err, r.Unknown)
		}
		if (want == "") != (len(r.Faults) == 0) || want != "" && !strings.Contains(r.Faults[0].Fault+r.Faults[0].Remedy, want) {
			t.Errorf("%d: %v", status, r.Faults)
		}
	}
	r := &Report{}
	o.URLs[0] = "https://127.0.0.1:1/services/infra"
	if err := o.checkShardCertificate(t.Context(), r); err != nil || len(r.Unknown) != 1 || len(r.Faults) > 0 {
		t.Errorf("nobody there: %v, %+v", err, r)
	}
	o.ShardCertificate = nil
	if err := o.checkShardCertificate(t.Context(), &Report{}); err != nil {
		t.Error(err)
	}
}
