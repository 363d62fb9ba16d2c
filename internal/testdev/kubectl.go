package testdev

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
)

// Kubectl is the real kubectl with the admin's kubeconfig.
func (d *Dev) Kubectl(t testing.TB) *testkubectl.Kubectl {
	t.Helper()
	return testkubectl.New(t, d.Kubeconfig)
}
