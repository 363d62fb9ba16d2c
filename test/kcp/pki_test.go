package kcp

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

// authority is a certificate authority.
type authority struct{ *certpair.Pair }

// signer is a private key.
type signer = crypto.Signer

func newAuthority(t testing.TB, name string) authority {
	t.Helper()
	p, err := certpair.Sign(nil, time.Now().Add(-2*time.Hour), time.Now().Add(24*time.Hour), x509.Certificate{
		Subject:  pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return authority{p}
}

// write puts the authority's certificate into a file.
func (a authority) write(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pemOf(a.Cert), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// client issues a client certificate as a shard has it: system:masters is what kcp
// writes in, and what must not count here. change, if any, changes it before.
func (a authority) client(t testing.TB, cn string, change ...func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	return a.issue(t, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour), cn, change...)
}

// issue is client with times. A nil authority: the certificate signs itself.
func (a authority) issue(t testing.TB, begin, end time.Time, cn string, change ...func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	template := x509.Certificate{
		Subject:     pkix.Name{CommonName: cn, Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, f := range change {
		f(&template)
	}
	p, err := certpair.Sign(a.Pair, begin, end, template)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key, Leaf: p.Cert}
}

// pemOf is a certificate as PEM.
func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
