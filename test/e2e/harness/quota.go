package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuotaInForce waits until kube-apiserver enforces a ResourceQuota whose status says so,
// and in whose namespace no Secret may be: it follows them by a watch of its own, and what
// is created before is counted by nobody.
func (p *Plane) QuotaInForce(t testing.TB, namespace string) {
	t.Helper()
	try := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one-too-many"}}
	Eventually(t, func(ctx context.Context) error {
		_, err := p.clients.Core.CoreV1().Secrets(namespace).Create(ctx, try, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			return fmt.Errorf("a Secret that is to exceed the quota of %s: %w", namespace, err)
		}
		return nil
	})
}
