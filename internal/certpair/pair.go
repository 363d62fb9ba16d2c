// Package certpair makes certificates with their keys, signs them, and reads and
// writes them as PEM. What is in a certificate, how long it lasts and when the next
// one is due is for its users to say.
package certpair

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// serialBits is how long serial numbers are: RFC 5280 allows 20 octets, CAs must use
// 64 bits at least.
const serialBits = 126

// Pair is a certificate and its key.
type Pair struct {
	// Cert is signed by an authority, or by Key.
	Cert *x509.Certificate
	// Key is Cert's.
	Key crypto.Signer
}

// Sign makes a new key (ECDSA, P-256) and a certificate of it from template, valid
// from begin to end. ca signs it; where ca is nil it signs itself. A certificate never
// outlives the one that signed it.
func Sign(ca *Pair, begin, end time.Time, template x509.Certificate) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)); err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	if ca != nil && end.After(ca.Cert.NotAfter) {
		end = ca.Cert.NotAfter
	}
	template.NotBefore, template.NotAfter = begin, end
	signer := ca
	if signer == nil {
		signer = &Pair{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, signer.Cert, key.Public(), signer.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &Pair{c, key}, nil
}

// Parse reads a pair; of several certificates the first counts. It is nil where
// certificate or key is missing, broken or not the other's: then it has to be made
// anew.
func Parse(certPEM, keyPEM []byte) *Pair {
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
	return &Pair{certs[0], key}
}

func samePublic(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && key.Equal(b)
}

// Encode is the PEM form of a pair.
func (p *Pair) Encode() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = cert.EncodeCertificates(p.Cert); err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(p.Key); err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	return certPEM, keyPEM, nil
}

// SignedBy tells whether ca signed p. It says nothing of time.
func (p *Pair) SignedBy(ca *x509.Certificate) bool { return p.Cert.CheckSignatureFrom(ca) == nil }
