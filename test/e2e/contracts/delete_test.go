//go:build e2e

package contracts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// deployed is an Infra with its contract "web" held.
func deployed(t *testing.T, f *harness.Fulfiller, repo string) string {
	t.Helper()
	name := bound(t, repo, func(o *v1alpha1.Infra) { o.Spec.Contracts[0].State = v1alpha1.ContractRequested })
	f.Claim(t, computeName(name))
	f.Hold(t, computeName(name))
	awaitInfra(t, name, inPhase(v1alpha1.PhaseDeployed, "web=Deployed"))
	return name
}

// ACC29-DELETE-RELEASES: a deployed Infra that is deleted waits for the release of its
// contract, which it asks for; then the ComputeContract goes, the record, and the Infra.
// With foreground deletion the cluster's garbage collector takes part, and with orphans
// it takes the ComputeContract from its deployment; both change nothing of that order.
func TestDeleteReleases(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"background", "foreground", "orphan"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			alice, f := plane.Account(t, "alice"), plane.Fulfiller(t)
			h := followContracts(t)
			name := deployed(t, f, "")
			plane.Kubectl(t).Run(t, "delete", "infra", name, "--cascade="+how, "--wait=false")
			awaitInfra(t, name, func(o *v1alpha1.Infra) error {
				if o.DeletionTimestamp == nil || !slices.Contains(o.Finalizers, v1alpha1.FinalizerRelease) {
					return errors.New("it doesn't terminate with the finalizer")
				}
				return phases(&o.Status, v1alpha1.PhaseDeleting, "web=Releasing")
			})
			f.Await(t, computeName(name), released)
			f.Releasing(t, computeName(name))
			// Nothing has gone yet.
			if r := record(t, alice, name); !strings.Contains(r.URI, name) {
				t.Errorf("record %+v", r)
			}
			if _, err := infras().Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"}); err != nil {
				t.Errorf("while the contract is being released: %v", err)
			}
			f.Release(t, computeName(name))
			infraGone(t, name)
			h.deleted(t, name)
			awaitNoRecord(t, alice, harness.InfraCollection, name)
			sound(t)
		})
	}
}
