package servingcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdate is how long before its making a certificate is valid: clocks differ.
const backdate = 5 * time.Minute

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority makes a certificate authority that lasts for lifetime.
func newAuthority(now time.Time, lifetime time.Duration) (*pair, error) {
	return sign(now, now.Add(lifetime), nil, &x509.Certificate{
		// The time makes the subject its own: verifiers find the issuer by it.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("infra-apiserver-ca@%d", now.Unix())},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	})
}

// newLeaf makes a serving certificate for names. It never outlives its authority.
func newLeaf(now time.Time, lifetime time.Duration, ca *pair, names []string) (*pair, error) {
	end := now.Add(lifetime)
	if end.After(ca.cert.NotAfter) {
		end = ca.cert.NotAfter
	}
	return sign(now, end, ca, &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
	})
}

// sign makes a key and its certificate, signed by ca, or by itself where ca is nil.
func sign(now, end time.Time, ca *pair, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	template.NotBefore, template.NotAfter = now.Add(-backdate), end
	signer := &pair{cert: template, key: key}
	if ca != nil {
		signer = ca
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &pair{cert: c, key: key}, nil
}

// parsePair reads a certificate and its key; nil where either is missing, broken
// or not the other's.
func parsePair(certPEM, keyPEM []byte) *pair {
	certs, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil
	}
	k, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil
	}
	key, ok := k.(crypto.Signer)
	if !ok || !samePublic(key.Public(), certs[0].PublicKey) {
		return nil
	}
	return &pair{cert: certs[0], key: key}
}

func samePublic(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && key.Equal(b)
}

// encode is the PEM form of a pair.
func (p *pair) encode() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = cert.EncodeCertificates(p.cert); err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(p.key); err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	return certPEM, keyPEM, nil
}

// serves tells whether p is good for every one of names at the time now. One that
// isn't valid yet is as good as any: the clock that made it was ahead of ours, and
// clients go by theirs.
func (p *pair) serves(now time.Time, names []string) bool {
	return p != nil && now.Before(p.cert.NotAfter) &&
		!slices.ContainsFunc(names, func(name string) bool { return p.cert.VerifyHostname(name) != nil })
}

// signedBy tells whether ca signed p.
func (p *pair) signedBy(ca *x509.Certificate) bool { return p.cert.CheckSignatureFrom(ca) == nil }
