//go:build e2e

package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A collection that is deleted takes its children and their records along, once they have
// released what they held; orphaned, they stay, are nobody's, and follow their records as
// before. The cluster's garbage collector works on it at the same time.
func TestCollectionEnds(t *testing.T) {
	t.Parallel()
	for how, account := range endings {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a, f := plane.Account(t, account), plane.Fulfiller(t)
			contracts := followContracts(t)
			plane.NewRepo(t, account, a)
			name := harness.Name(t)
			f.Serve(t, name)
			written(t, a, name, "requested")
			collect(t, account)
			before := awaitInfra(t, name, inPhase(v1alpha1.PhaseDeployed, "web=Deployed"))
			plane.Kubectl(t).Run(t, "delete", "infracollection", account, "--cascade="+how, "--wait=false")
			gone(t, func(ctx context.Context) error {
				_, err := collections().Get(ctx, account, metav1.GetOptions{})
				return err
			})
			if how != "orphan" {
				infraGone(t, name)
				contracts.deleted(t, name)
				awaitNoRecord(t, a, harness.InfraCollection, name)
				return
			}
			o := awaitInfra(t, name, func(o *v1alpha1.Infra) error {
				if len(o.OwnerReferences) > 0 || o.Labels[v1alpha1.LabelCollection] != "" || o.DeletionTimestamp != nil {
					return fmt.Errorf("metadata %+v", o.ObjectMeta)
				}
				return phases(&o.Status, v1alpha1.PhaseDeployed, "web=Deployed")
			})
			if o.UID != before.UID {
				t.Errorf("uid %s, was %s", o.UID, before.UID)
			}
			if _, err := a.Edit(t.Context(), harness.InfraCollection, name, func(value map[string]any) { value["description"] = "after" }); err != nil {
				t.Fatal(err)
			}
			awaitInfra(t, name, func(o *v1alpha1.Infra) error { return declared(o, record(t, a, name).Value) })
		})
	}
}

// What somebody else's records request is shown and doesn't run, and their declarations
// can't be written here.
func TestForeignRecordsDoNotRun(t *testing.T) {
	t.Parallel()
	a := plane.Account(t, foreign)
	h := followContracts(t)
	plane.NewRepo(t, foreign, a, func(r *v1alpha1.AtprotoRepo) { r.Spec.Access, r.Spec.CredentialsRef = v1alpha1.AccessRead, nil })
	name := harness.Name(t)
	written(t, a, name, "requested")
	collect(t, foreign)
	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if !meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.ConditionExecuting) {
			return errors.New("it doesn't say that it doesn't run")
		}
		return phases(&o.Status, v1alpha1.PhaseStaged, "web=Staged")
	})
	said := plane.Kubectl(t).Fails(t, "", "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"ours"}}`)
	if !strings.Contains(said, "Forbidden") || !strings.Contains(said, foreign) {
		t.Errorf("a write of the declaration: %s", said)
	}
	plane.Kubectl(t).Run(t, "label", "infra", name, "seen=yes") // is ours
	if all := h.of(t, name); len(all) > 0 {
		t.Errorf("ComputeContracts were made: %v", all)
	}
}
