package manifests

import (
	"time"

	certv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// certManagerCertificate has cert-manager make the authority, the serving
// certificate, and the caBundle.
func certManagerCertificate() []Object {
	const authority, bootstrap = Name + "-ca", Name + "-selfsigned"
	kind := func(k string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: certv1.SchemeGroupVersion.String(), Kind: k}
	}
	key := &certv1.CertificatePrivateKey{Algorithm: certv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certv1.RotationPolicyAlways}
	objects := []runtime.Object{
		&certv1.Issuer{
			TypeMeta: kind(certv1.IssuerKind), ObjectMeta: inNamespace(bootstrap, containerName),
			Spec: certv1.IssuerSpec{IssuerConfig: certv1.IssuerConfig{SelfSigned: &certv1.SelfSignedIssuer{}}},
		},
		&certv1.Certificate{
			TypeMeta: kind(certv1.CertificateKind), ObjectMeta: inNamespace(authority, containerName),
			Spec: certv1.CertificateSpec{
				IsCA: true, CommonName: authority, SecretName: authority,
				Duration:   &metav1.Duration{Duration: 10 * 365 * 24 * time.Hour},
				PrivateKey: &certv1.CertificatePrivateKey{Algorithm: certv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certv1.RotationPolicyNever},
				IssuerRef:  cmmeta.IssuerReference{Name: bootstrap, Kind: certv1.IssuerKind, Group: certv1.SchemeGroupVersion.Group},
			},
		},
		&certv1.Issuer{
			TypeMeta: kind(certv1.IssuerKind), ObjectMeta: inNamespace(authority, containerName),
			Spec: certv1.IssuerSpec{IssuerConfig: certv1.IssuerConfig{CA: &certv1.CAIssuer{SecretName: authority}}},
		},
		&certv1.Certificate{
			TypeMeta: kind(certv1.CertificateKind), ObjectMeta: inNamespace(ServingSecret, containerName),
			Spec: certv1.CertificateSpec{
				SecretName: ServingSecret, DNSNames: []string{Name + "." + Namespace + ".svc"},
				Duration:    &metav1.Duration{Duration: 90 * 24 * time.Hour},
				RenewBefore: &metav1.Duration{Duration: 30 * 24 * time.Hour},
				Usages:      []certv1.KeyUsage{certv1.UsageServerAuth, certv1.UsageDigitalSignature},
				PrivateKey:  key,
				IssuerRef:   cmmeta.IssuerReference{Name: authority, Kind: certv1.IssuerKind, Group: certv1.SchemeGroupVersion.Group},
			},
		},
	}
	docs := []string{
		"Signs the authority, once.",
		"The authority. Its key stays, so that the caBundle does.",
		"", "The serving certificate. The server takes a renewed one up without a restart.",
	}
	out := make([]Object, len(objects))
	for i, o := range objects {
		out[i] = Object{File: "cert-manager.yaml", Doc: docs[i], When: certManager, Typed: o}
	}
	return out
}
