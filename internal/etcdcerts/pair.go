package etcdcerts

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"time"

	"socialweb.computer/infra-apiserver/internal/certpair"
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

// newAuthority signs both sides' certificates, and nothing else.
func newAuthority(now time.Time) (*certpair.Pair, error) {
	return sign(now, nil, x509.Certificate{
		Subject:  pkix.Name{CommonName: "infra-apiserver-etcd-ca"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	})
}

// newServer is what etcd serves with. etcd's gateway to itself shows it as a client.
func newServer(now time.Time, ca *certpair.Pair, names []string) (*certpair.Pair, error) {
	return sign(now, ca, x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    append(slices.Clone(names), "localhost"),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

// newClient is what the API server shows.
func newClient(now time.Time, ca *certpair.Pair) (*certpair.Pair, error) {
	return sign(now, ca, x509.Certificate{
		Subject:     pkix.Name{CommonName: "infra-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func sign(now time.Time, ca *certpair.Pair, template x509.Certificate) (*certpair.Pair, error) {
	return certpair.Sign(ca, now.Add(-backdate), now.Add(lifetime), template)
}

// lasts says whether p needs no renewal yet.
func lasts(p *certpair.Pair, now time.Time) bool {
	return p != nil && now.Before(p.Cert.NotAfter.Add(-renewal))
}

// goodFor says whether p is of an authority, lasts, and has all the names.
func goodFor(p *certpair.Pair, now time.Time, ca *certpair.Pair, names []string) bool {
	return lasts(p, now) && p.SignedBy(ca.Cert) &&
		!slices.ContainsFunc(names, func(name string) bool { return p.Cert.VerifyHostname(name) != nil })
}
