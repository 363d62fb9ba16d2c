package apiserver

import (
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// certificateEnd tells when the serving certificate that is in use now ends; zero
// where there is none that can be read.
func certificateEnd(p dynamiccertificates.CertKeyContentProvider) func() time.Time {
	return func() time.Time {
		if p == nil {
			return time.Time{}
		}
		content, _ := p.CurrentCertKeyContent()
		certificates, err := cert.ParseCertsPEM(content)
		if err != nil {
			return time.Time{}
		}
		return certificates[0].NotAfter
	}
}
