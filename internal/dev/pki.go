package dev

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

const (
	// certLifetime of everything in the PKI of dev.
	certLifetime = 10 * 365 * 24 * time.Hour
	// certMargin before its expiry a certificate is made anew.
	certMargin = 30 * 24 * time.Hour
	// certBackdate is how long before its making a certificate is valid.
	certBackdate = time.Hour
)

// PKI names the files of dev's certificate authority and of what it signed. The
// keys are readable by this user alone.
type PKI struct {
	// CACert is trusted by both sides: it signed the server's certificate and
	// the clients'.
	CACert string
	// ServerCert and ServerKey serve 127.0.0.1, ::1 and localhost.
	ServerCert, ServerKey string
	// AdminCert and AdminKey authenticate as user "admin", group
	// system:masters.
	AdminCert, AdminKey string
}

// EnsurePKI returns the PKI under dir and makes what is missing or about to
// expire. What is good is kept, so that kubeconfigs of an earlier start go on
// to work.
func EnsurePKI(dir string, clk clock.PassiveClock) (PKI, error) {
	p := PKI{
		CACert:     filepath.Join(dir, "ca.crt"),
		ServerCert: filepath.Join(dir, "server.crt"),
		ServerKey:  filepath.Join(dir, "server.key"),
		AdminCert:  filepath.Join(dir, "admin.crt"),
		AdminKey:   filepath.Join(dir, "admin.key"),
	}
	now := clk.Now()
	ca, err := ensurePair(p.CACert, filepath.Join(dir, "ca.key"), now, nil, x509.Certificate{
		Subject:               pkix.Name{CommonName: "infra-apiserver dev CA"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	})
	if err != nil {
		return PKI{}, err
	}
	if _, err := ensurePair(p.ServerCert, p.ServerKey, now, ca, x509.Certificate{
		Subject:     pkix.Name{CommonName: "infra-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}); err != nil {
		return PKI{}, err
	}
	if _, err := ensurePair(p.AdminCert, p.AdminKey, now, ca, x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return PKI{}, err
	}
	return p, nil
}

// ensurePair loads a pair, or makes it from template, signed by ca (by itself
// where ca is nil), when there is none that ca signed and that lasts.
func ensurePair(certFile, keyFile string, now time.Time, ca *certpair.Pair, template x509.Certificate) (*certpair.Pair, error) {
	if p := loadPair(certFile, keyFile); p != nil && lasts(p, now) && signedBy(p, ca) {
		return p, nil
	}
	p, err := certpair.Sign(ca, now.Add(-certBackdate), now.Add(certLifetime), template)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	certPEM, keyPEM, err := p.Encode()
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	// The key first: a crash between the two leaves a certificate that doesn't
	// fit its key, which the next start makes anew.
	if err := writePrivate(keyFile, keyPEM); err != nil {
		return nil, err
	}
	return p, writePrivate(certFile, certPEM)
}

// loadPair reads a pair; nil where a file is missing, unreadable or doesn't fit the
// other.
func loadPair(certFile, keyFile string) *certpair.Pair {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return nil
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil
	}
	return certpair.Parse(certPEM, keyPEM)
}

func lasts(p *certpair.Pair, now time.Time) bool {
	return now.After(p.Cert.NotBefore) && now.Add(certMargin).Before(p.Cert.NotAfter)
}

// signedBy tells whether ca signed p, or p itself where ca is nil.
func signedBy(p, ca *certpair.Pair) bool {
	if ca == nil {
		ca = p
	}
	return p.SignedBy(ca.Cert)
}
