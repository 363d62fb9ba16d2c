package servingcert

import (
	"bytes"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

// content is what is served now. Connections that exist keep what they began with,
// so that no watch notices a change.
type content struct {
	mu        sync.RWMutex // guards what follows
	cert, key []byte
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = (*content)(nil)

// Name implements dynamiccertificates.CertKeyContentProvider.
func (c *content) Name() string { return "serving-cert-secret" }

// AddListener implements dynamiccertificates.Notifier.
func (c *content) AddListener(l dynamiccertificates.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (c *content) CurrentCertKeyContent() (cert, key []byte) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.cert, c.key
}

// set serves p from now on, and tells whether it is another than before.
func (c *content) set(p *certpair.Pair) (changed bool, err error) {
	cert, key, err := p.Encode()
	if err != nil {
		return false, fmt.Errorf("serving certificate: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(cert, c.cert) {
		return false, nil
	}
	c.cert, c.key = cert, key
	for _, l := range c.listeners {
		l.Enqueue()
	}
	return true, nil
}
