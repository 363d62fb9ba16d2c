package etcdcerts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// lifetime of everything that is made. etcd's pod renews when it starts, which
	// may be long after.
	lifetime = 10 * 365 * 24 * time.Hour
	// renewal is how long before its end something is made anew.
	renewal = 365 * 24 * time.Hour
	// backdate is for clocks that differ.
	backdate = 5 * time.Minute
)

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority signs both sides' certificates, and nothing else.
func newAuthority(now time.Time) (*pair, error) {
	return sign(now, nil, &x509.Certificate{
		Subject:  pkix.Name{CommonName: "infra-apiserver-etcd-ca"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	})
}

// newServer is what etcd serves with. etcd's gateway to itself shows it as a client.
func newServer(now time.Time, ca *pair, names []string) (*pair, error) {
	return sign(now, ca, &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    append(slices.Clone(names), "localhost"),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

// newClient is what the API server shows.
func newClient(now time.Time, ca *pair) (*pair, error) {
	return sign(now, ca, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "infra-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func sign(now time.Time, ca *pair, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)); err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(lifetime)
	signer := &pair{template, key}
	if ca != nil {
		signer = ca
		if template.NotAfter.After(ca.cert.NotAfter) {
			template.NotAfter = ca.cert.NotAfter
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &pair{c, key}, nil
}

// parse reads a pair; nil where there is none, or one that isn't whole.
func parse(certPEM, keyPEM []byte) *pair {
	certs, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil
	}
	k, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return nil
	}
	return &pair{certs[0], key}
}

// lasts says whether p needs no renewal yet.
func (p *pair) lasts(now time.Time) bool {
	return p != nil && now.Before(p.cert.NotAfter.Add(-renewal))
}

// goodFor says whether p is of an authority, lasts, and has all the names.
func (p *pair) goodFor(now time.Time, ca *pair, names []string) bool {
	return p.lasts(now) && p.cert.CheckSignatureFrom(ca.cert) == nil &&
		!slices.ContainsFunc(names, func(name string) bool { return p.cert.VerifyHostname(name) != nil })
}

func (p *pair) encode() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = cert.EncodeCertificates(p.cert); err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(p.key); err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	return certPEM, keyPEM, nil
}
