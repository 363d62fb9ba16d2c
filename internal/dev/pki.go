package dev

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/clock"
)

const (
	// certLifetime of everything in the PKI of dev.
	certLifetime = 10 * 365 * 24 * time.Hour
	// certMargin before its expiry a certificate is made anew.
	certMargin = 30 * 24 * time.Hour
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
	ca, err := ensurePair(p.CACert, filepath.Join(dir, "ca.key"), now, nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "infra-apiserver dev CA"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	})
	if err != nil {
		return PKI{}, err
	}
	if _, err := ensurePair(p.ServerCert, p.ServerKey, now, ca, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "infra-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}); err != nil {
		return PKI{}, err
	}
	if _, err := ensurePair(p.AdminCert, p.AdminKey, now, ca, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return PKI{}, err
	}
	return p, nil
}

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// ensurePair loads a pair, or makes it from template, signed by ca (by itself
// where ca is nil), when there is none that ca signed and that lasts.
func ensurePair(certFile, keyFile string, now time.Time, ca *pair, template *x509.Certificate) (*pair, error) {
	if p, ok := loadPair(certFile, keyFile); ok && p.lasts(now) && p.signedBy(ca) {
		return p, nil
	}
	p, err := newPair(now, ca, template)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(p.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	// The key first: a crash between the two leaves a certificate that doesn't
	// fit its key, which the next start makes anew.
	if err := writePrivate(keyFile, keyPEM); err != nil {
		return nil, err
	}
	certPEM, err := cert.EncodeCertificates(p.cert)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	return p, writePrivate(certFile, certPEM)
}

func newPair(now time.Time, ca *pair, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(certLifetime)
	signer := &pair{cert: template, key: key}
	if ca != nil {
		signer = ca
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{cert: c, key: key}, nil
}

// loadPair reads a pair; false where a file is missing, unreadable or doesn't
// fit the other.
func loadPair(certFile, keyFile string) (*pair, bool) {
	certs, err := cert.CertsFromFile(certFile)
	if err != nil || len(certs) != 1 {
		return nil, false
	}
	k, err := keyutil.PrivateKeyFromFile(keyFile)
	if err != nil {
		return nil, false
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return nil, false
	}
	return &pair{cert: certs[0], key: key}, true
}

func (p *pair) lasts(now time.Time) bool {
	return now.After(p.cert.NotBefore) && now.Add(certMargin).Before(p.cert.NotAfter)
}

func (p *pair) signedBy(ca *pair) bool {
	if ca == nil {
		ca = p
	}
	return p.cert.CheckSignatureFrom(ca.cert) == nil
}
