package servingcert

import (
	"crypto/x509"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

// The keys of the Secret. The first two are those of every TLS Secret.
const (
	// LeafCert is what the replicas serve.
	LeafCert = corev1.TLSCertKey
	// LeafKey is its key.
	LeafKey = corev1.TLSPrivateKeyKey
	// Bundle is every authority that is to be trusted, the newest first.
	Bundle = "ca.crt"
	// AuthorityKey is the key of the newest authority. Older ones sign no more.
	AuthorityKey = "ca.key"
)

// state is what the Secret says.
type state struct {
	// leaf is nil where there is none that could be served.
	leaf *certpair.Pair
	// trusted are the authorities, the newest first. signer is the newest with its
	// key; nil: the key is missing or another's.
	trusted []*x509.Certificate
	signer  *certpair.Pair
}

// decode reads a Secret. What is missing or broken counts as not there: it is made
// anew.
func decode(secret *corev1.Secret) state {
	if secret == nil {
		return state{}
	}
	s := state{leaf: certpair.Parse(secret.Data[LeafCert], secret.Data[LeafKey])}
	trusted, err := cert.ParseCertsPEM(secret.Data[Bundle])
	if err != nil {
		return s
	}
	s.trusted = trusted
	s.signer = certpair.Parse(secret.Data[Bundle], secret.Data[AuthorityKey])
	return s
}

// encodeInto puts s into a Secret and leaves what others keep there.
func (s state) encodeInto(secret *corev1.Secret) error {
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	var err error
	if data[LeafCert], data[LeafKey], err = s.leaf.Encode(); err != nil {
		return err
	}
	if data[Bundle], err = s.bundle(); err != nil {
		return err
	}
	if _, data[AuthorityKey], err = s.signer.Encode(); err != nil {
		return err
	}
	secret.Data = data
	return nil
}

// bundle is what clients have to trust, in PEM.
func (s state) bundle() ([]byte, error) { return cert.EncodeCertificates(s.trusted...) }
