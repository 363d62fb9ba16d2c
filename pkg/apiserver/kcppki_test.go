package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

const (
	shardName = "system:kcp:shard:root"
	infras    = "/apis/socialweb.computer/v1alpha1/infras"
	kcpPrefix = "/services/infra"
)

// certificate signs one; ca nil: itself.
func certificate(t testing.TB, ca *certpair.Pair, cn string, change func(*x509.Certificate)) *certpair.Pair {
	t.Helper()
	return certificateFor(t, ca, cn, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), change)
}

func certificateFor(t testing.TB, ca *certpair.Pair, cn string, begin, end time.Time, change func(*x509.Certificate)) *certpair.Pair {
	t.Helper()
	template := x509.Certificate{
		Subject:  pkix.Name{CommonName: cn, Organization: []string{"system:masters"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(&template)
	}
	p, err := certpair.Sign(ca, begin, end, template)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func asAuthority(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	c.SubjectKeyId = []byte(c.Subject.CommonName)
}

func newAuthority(t testing.TB, name string) *certpair.Pair {
	t.Helper()
	return certificate(t, nil, name, asAuthority)
}

// believing is a door for the shards of these authorities.
func believing(cas ...*certpair.Pair) *kcpDoor {
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, ca := range cas {
		o.Roots.AddCert(ca.Cert)
	}
	d := NewKCPOptions()
	return &kcpDoor{prefix: d.PathPrefix + clustersPrefix, names: d.ShardAllowedNames, authorities: func() (x509.VerifyOptions, bool) { return o, true }}
}

// over is the state of a connection with these client certificates, the client's own
// first.
func over(chain ...*certpair.Pair) *tls.ConnectionState {
	s := &tls.ConnectionState{}
	for _, p := range chain {
		s.PeerCertificates = append(s.PeerCertificates, p.Cert)
	}
	return s
}

// logged is a context whose log the test reads.
func logged(ctx context.Context) (context.Context, *bytes.Buffer) {
	var b bytes.Buffer
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&b)))), &b
}

// refusals are how many were counted, by reason.
func refusals(t testing.TB) map[string]int {
	t.Helper()
	metrics.Register()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		if f.GetName() != "infra_apiserver_door_refusals_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] += int(m.GetCounter().GetValue())
		}
	}
	return out
}

// send gives a request to h, and demands that it is refused for reason, with one line
// in the log and one in the metric; "": that it isn't. It returns answer and log.
func send(t *testing.T, h http.Handler, r *http.Request, reason metrics.DoorRefusal) (*httptest.ResponseRecorder, string) {
	t.Helper()
	before := refusals(t)
	ctx, log := logged(r.Context())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	text, n := log.String(), 0
	for why, count := range refusals(t) {
		if count -= before[why]; count > 0 && why != string(reason) {
			t.Errorf("%s %s: counted as %s, want %q", r.Method, r.URL, why, reason)
		}
		n += count
	}
	want := 0
	if reason != "" {
		want = 1
		if !strings.Contains(text, `reason="`+string(reason)+`"`) || w.Code < 400 || !strings.Contains(w.Body.String(), `"kind":"Status"`) {
			t.Errorf("%s %s: answered %d %s, logged %s; want %s", r.Method, r.URL, w.Code, w.Body, text, reason)
		}
	}
	if lines := strings.Count(text, "Refused at a door"); lines != want || n != want {
		t.Errorf("%s %s: %d lines, counted %d times, want %d: %s", r.Method, r.URL, lines, n, want, text)
	}
	return w, text
}
