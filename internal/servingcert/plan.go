package servingcert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

const (
	// leafLifetime of a serving certificate, and how long before its end the next
	// one is made: a replica set that sleeps for a month still wakes up with a good
	// one.
	leafLifetime = 90 * 24 * time.Hour
	leafRenewal  = 30 * 24 * time.Hour
	// authorityLifetime, and how long before its end the next one is made. More
	// than a leaf's lifetime: no leaf is cut short.
	authorityLifetime = 2 * 365 * 24 * time.Hour
	authorityRenewal  = 180 * 24 * time.Hour
	// overlap is how long a new authority is trusted before it signs a leaf that
	// replaces a good one. kube-apiservers take seconds to know it.
	overlap = 10 * time.Minute
	// maxTrusted bounds the bundle, should the newest authority's key be lost again
	// and again.
	maxTrusted = 4
)

// change is something that a plan does, for the log.
type change string

const (
	madeAuthority change = "a new authority, beside those that are trusted"
	madeLeaf      change = "a new serving certificate"
	forgot        change = "authorities that expired are no longer trusted"
)

// plan tells what the Secret should hold next; without changes it is s.
// published says that the newest authority is trusted where clients look for it.
func (s state) plan(now time.Time, names []string, published bool) (state, []change, error) {
	var changes []change
	valid := slices.DeleteFunc(slices.Clone(s.trusted), func(ca *x509.Certificate) bool { return !now.Before(ca.NotAfter) })
	if len(valid) != len(s.trusted) {
		s.trusted, changes = valid, append(changes, forgot)
	}
	if s.signer == nil || now.After(s.signer.Cert.NotAfter.Add(-authorityRenewal)) {
		ca, err := newAuthority(now, authorityLifetime)
		if err != nil {
			return s, nil, fmt.Errorf("authority: %w", err)
		}
		s.signer, published = ca, false
		s.trusted = append([]*x509.Certificate{ca.Cert}, s.trusted...)
		s.trusted = s.trusted[:min(len(s.trusted), maxTrusted)]
		changes = append(changes, madeAuthority)
	}
	if !s.leafDue(now, names, published) {
		return s, changes, nil
	}
	leaf, err := newLeaf(now, leafLifetime, s.signer, s.leafNames(now, names))
	if err != nil {
		return s, nil, fmt.Errorf("serving certificate: %w", err)
	}
	s.leaf = leaf
	return s, append(changes, madeLeaf), nil
}

// leafDue tells whether a leaf has to be made. One that can't be served or trusted
// is replaced at once; a good one only when clients know who signs the next.
func (s state) leafDue(now time.Time, names []string, published bool) bool {
	if !serves(s.leaf, now, names) || !slices.ContainsFunc(s.trusted, s.leaf.SignedBy) {
		return true
	}
	due := now.After(s.leaf.Cert.NotAfter.Add(-leafRenewal)) || !s.leaf.SignedBy(s.signer.Cert)
	known := published && !now.Before(s.signer.Cert.NotBefore.Add(backdate+overlap))
	return due && known
}

// leafNames of the next leaf. A good leaf that lacks a name gets it added: replicas
// with other flags, as in an update, don't take turns at dropping each other's.
func (s state) leafNames(now time.Time, names []string) []string {
	out := slices.Clone(names)
	if s.leaf != nil && now.Before(s.leaf.Cert.NotAfter.Add(-leafRenewal)) {
		for _, name := range s.leaf.Cert.DNSNames {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
