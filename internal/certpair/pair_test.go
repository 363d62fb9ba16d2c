package certpair

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"
)

var (
	begin = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	end   = begin.Add(time.Hour)
)

func sign(t *testing.T, ca *Pair, end time.Time, template x509.Certificate) *Pair {
	t.Helper()
	p, err := Sign(ca, begin, end, template)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func authority(t *testing.T, name string) *Pair {
	t.Helper()
	return sign(t, nil, end, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	})
}

func leaf(t *testing.T, ca *Pair, end time.Time) *Pair {
	t.Helper()
	return sign(t, ca, end, x509.Certificate{DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// TestSign: a verifier that trusts the authority accepts the leaf, within its time
// and for its names alone.
func TestSign(t *testing.T) {
	ca, other := authority(t, "ca"), authority(t, "ca")
	p := leaf(t, ca, end.Add(-time.Minute))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	verify := func(name string, at time.Time, roots *x509.CertPool) error {
		_, err := p.Cert.Verify(x509.VerifyOptions{DNSName: name, CurrentTime: at, Roots: roots})
		return err
	}
	if err := verify("localhost", begin, roots); err != nil {
		t.Error(err)
	}
	strangers := x509.NewCertPool()
	strangers.AddCert(other.Cert)
	for name, err := range map[string]error{
		"another name":        verify("example.com", begin, roots),
		"before its time":     verify("localhost", begin.Add(-time.Second), roots),
		"after its time":      verify("localhost", end, roots),
		"another authority":   verify("localhost", begin, strangers),
		"no authority at all": verify("localhost", begin, x509.NewCertPool()),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if !p.SignedBy(ca.Cert) || p.SignedBy(other.Cert) || !ca.SignedBy(ca.Cert) || p.SignedBy(p.Cert) {
		t.Error("SignedBy takes one authority for the other")
	}
	if again := leaf(t, ca, end); again.Cert.SerialNumber.Cmp(p.Cert.SerialNumber) == 0 || samePublic(again.Key.Public(), p.Key.Public()) {
		t.Error("two certificates have the same serial number or key")
	}
}

// TestALeafEndsWithItsAuthority: what is valid longer is no good to anybody.
func TestALeafEndsWithItsAuthority(t *testing.T) {
	if p := leaf(t, authority(t, "ca"), end.Add(time.Hour)); !p.Cert.NotAfter.Equal(end) || !p.Cert.NotBefore.Equal(begin) {
		t.Errorf("valid from %s to %s", p.Cert.NotBefore, p.Cert.NotAfter)
	}
}

// TestParse reads back what Encode wrote, and nothing that isn't whole.
func TestParse(t *testing.T) {
	ca := authority(t, "ca")
	p, other := leaf(t, ca, end), leaf(t, ca, end)
	certPEM, keyPEM, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	otherCert, otherKey, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	bundle := append(append([]byte{}, certPEM...), otherCert...)
	for name, certs := range map[string][]byte{"one": certPEM, "the first of two": bundle} {
		if got := Parse(certs, keyPEM); got == nil || !got.Cert.Equal(p.Cert) || !samePublic(got.Key.Public(), p.Key.Public()) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, got := range map[string]*Pair{
		"another's key":      Parse(certPEM, otherKey),
		"the second's key":   Parse(bundle, otherKey),
		"no key":             Parse(certPEM, nil),
		"no certificate":     Parse(nil, keyPEM),
		"half a key":         Parse(certPEM, keyPEM[:len(keyPEM)/2]),
		"half of it":         Parse(certPEM[:len(certPEM)/2], keyPEM),
		"a public key alone": Parse(certPEM, certPEM),
	} {
		if got != nil {
			t.Errorf("%s is read as a pair", name)
		}
	}
}
