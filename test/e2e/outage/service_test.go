//go:build e2e

package outage

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// The Service follows its replicas: what is killed gets no connections, and what
// comes back does. A GET through the aggregator finds the one that is left.
func TestServiceFollowsReplicas(t *testing.T) {
	name := plane.Infra(t)
	infras := plane.Admin().Infra.SocialwebV1alpha1().Infras()
	for _, r := range plane.Replicas {
		r.Kill(t)
		// What the aggregator sends by a connection that is just breaking is lost with it.
		harness.Eventually(t, func(ctx context.Context) error {
			if _, err := infras.Get(ctx, name, metav1.GetOptions{}); err != nil {
				return fmt.Errorf("without %s: %w", r.Name, harness.Explain(err))
			}
			return nil
		})
		endpoints(t, len(plane.Replicas)-1)
		r.Start(t)
		endpoints(t, len(plane.Replicas))
		direct := harness.NewClients(t, r.Direct(plane.Config()))
		if _, err := direct.Infra.SocialwebV1alpha1().Infras().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("%s after its return: %v", r.Name, err)
		}
	}
	plane.Available(t, true)
}

// endpoints waits until the cluster knows of n ready replicas.
func endpoints(t *testing.T, n int) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		slices, err := plane.Admin().Core.DiscoveryV1().EndpointSlices(harness.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, s := range slices.Items {
			for _, e := range s.Endpoints {
				if *e.Conditions.Ready {
					ready++
				}
			}
		}
		if ready != n {
			return fmt.Errorf("%d ready endpoints, want %d", ready, n)
		}
		return nil
	})
}
