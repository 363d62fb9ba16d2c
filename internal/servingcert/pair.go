package servingcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

// backdate is how long before its making a certificate is valid: clocks differ.
const backdate = 5 * time.Minute

// newAuthority makes a certificate authority that lasts for lifetime.
func newAuthority(now time.Time, lifetime time.Duration) (*certpair.Pair, error) {
	return certpair.Sign(nil, now.Add(-backdate), now.Add(lifetime), x509.Certificate{
		// The time makes the subject its own: verifiers find the issuer by it.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("infra-apiserver-ca@%d", now.Unix())},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	})
}

// newLeaf makes a serving certificate for names. It never outlives its authority.
func newLeaf(now time.Time, lifetime time.Duration, ca *certpair.Pair, names []string) (*certpair.Pair, error) {
	return certpair.Sign(ca, now.Add(-backdate), now.Add(lifetime), x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
	})
}

// serves tells whether p is good for every one of names at the time now. One that
// isn't valid yet is as good as any: the clock that made it was ahead of ours, and
// clients go by theirs.
func serves(p *certpair.Pair, now time.Time, names []string) bool {
	return p != nil && now.Before(p.Cert.NotAfter) &&
		!slices.ContainsFunc(names, func(name string) bool { return p.Cert.VerifyHostname(name) != nil })
}
