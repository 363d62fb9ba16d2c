package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Authority is a certificate authority of the plane.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is its certificate.
	PEM []byte
}

// Pair is a certificate with its key, as PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority makes one that signs itself.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true,
	}
	c, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{c, key, pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})}, nil
}

// Client issues a certificate that authenticates as a user with groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Serving issues a certificate for names, which may be addresses.
func (a *Authority) Serving(names ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	c, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return Pair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw}), keyPEM}, nil
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)); err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// pki is what the programs of the plane authenticate with. CAs are apart: none of
// them vouches for what another signs.
type pki struct {
	cluster, frontProxy, serving *Authority
}

func newPKI() (*pki, error) {
	var p pki
	for name, a := range map[string]**Authority{"cluster": &p.cluster, "front-proxy": &p.frontProxy, "infra-apiserver-serving": &p.serving} {
		var err error
		if *a, err = NewAuthority(name); err != nil {
			return nil, fmt.Errorf("authority %s: %w", name, err)
		}
	}
	return &p, nil
}

// write puts the certificates of all programs into dir, as NAME.crt and NAME.key.
func (p *pki) write(dir string, n network) error {
	files := map[string][]byte{"ca.crt": p.cluster.PEM, "front-proxy-ca.crt": p.frontProxy.PEM, "serving-ca.crt": p.serving.PEM}
	pairs := map[string]func() (Pair, error){
		"apiserver": func() (Pair, error) {
			return p.cluster.Serving("kubernetes.default.svc", "kubernetes.default", "kubernetes", n.host(apiServerHost))
		},
		"kcm-serving": func() (Pair, error) {
			return p.cluster.Serving("kube-controller-manager", n.host(controllerManagerHost))
		},
		"front-proxy": func() (Pair, error) { return p.frontProxy.Client("front-proxy-client") },
		"admin":       func() (Pair, error) { return p.cluster.Client("admin", "system:masters") },
		"kcm":         func() (Pair, error) { return p.cluster.Client("system:kube-controller-manager") },
		"serving":     func() (Pair, error) { return p.serving.Serving(ServerName) },
	}
	for name, issue := range pairs {
		pair, err := issue()
		if err != nil {
			return fmt.Errorf("certificate %s: %w", name, err)
		}
		files[name+".crt"], files[name+".key"] = pair.Cert, pair.Key
	}
	// Any certificate's key will do for service account tokens.
	accounts, err := p.cluster.Client("service-accounts")
	if err != nil {
		return err
	}
	files["sa.key"], files["sa.pub"] = accounts.Key, accounts.Cert
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
