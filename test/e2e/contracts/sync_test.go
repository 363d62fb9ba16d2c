//go:build e2e

package contracts

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// followInfra is the history of one from a state of it on.
func followInfra(t *testing.T, o *v1alpha1.Infra) *history[*v1alpha1.Infra] {
	t.Helper()
	return follow[*v1alpha1.Infra](t, infras().Watch, metav1.ListOptions{
		FieldSelector: "metadata.name=" + o.Name, ResourceVersion: o.ResourceVersion,
	})
}

// went awaits that the declaration goes in a direction.
func went(t *testing.T, h *history[*v1alpha1.Infra], d v1alpha1.SyncDirection) {
	t.Helper()
	h.await(t, "direction "+string(d), func(e event[*v1alpha1.Infra]) bool {
		return e.object.Status.Record != nil && e.object.Status.Record.Direction == d
	})
}

// same waits until the object's cid is the record's, and nothing is left to write.
func same(t *testing.T, a *harness.Account, name string) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		o, err := infras().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		r, err := a.Get(ctx, harness.InfraCollection, name)
		if err != nil {
			return err
		}
		if r == nil || r.CID != o.Status.Record.CID || o.Status.Record.Direction != v1alpha1.DirectionInSync {
			return fmt.Errorf("record %+v, status.record %+v", r, o.Status.Record)
		}
		return nil
	})
}

// ACC29-RECORD-EDIT-PULL: a record that is edited at the PDS changes its object; once
// the status was written to the record again, its cid is the object's.
func TestRecordEditPull(t *testing.T) {
	t.Parallel()
	alice := plane.Account(t, "alice")
	name := bound(t, "")
	h := followInfra(t, settled(t, alice, name))
	if _, err := alice.Edit(t.Context(), harness.InfraCollection, name, func(value map[string]any) {
		value["description"] = "edited at the PDS"
		addContract(value, "db")
		delete(value, "status") // another client need not know it
	}); err != nil {
		t.Fatal(err)
	}
	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if c := o.Spec.Contracts; o.Spec.Description != "edited at the PDS" || len(c) != 2 || c[1].Name != "db" || c[1].State != v1alpha1.ContractStaged {
			return fmt.Errorf("spec %+v", o.Spec)
		}
		return nil
	})
	went(t, h, v1alpha1.DirectionPulled)
	awaitRecord(t, alice, harness.InfraCollection, name, hasPhase("staged", "web=staged", "db=staged"))
	same(t, alice, name)
	if err := declared(awaitInfra(t, name, inPhase(v1alpha1.PhaseStaged, "web=Staged", "db=Staged")), record(t, alice, name).Value); err != nil {
		t.Error(err)
	}
}

// ACC29-KCP-EDIT-PUSH: a patch of the object is in the record when it is answered.
func TestKCPEditPush(t *testing.T) {
	t.Parallel()
	alice := plane.Account(t, "alice")
	name := bound(t, "")
	h := followInfra(t, settled(t, alice, name))
	direction := plane.Kubectl(t).Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"pushed"}}`,
		"-o", "jsonpath={.status.record.direction}")
	if direction != string(v1alpha1.DirectionPushed) {
		t.Errorf("the patch was answered with direction %q", direction)
	}
	if got := record(t, alice, name).Value["description"]; got != "pushed" {
		t.Errorf("the record's description is %q", got)
	}
	went(t, h, v1alpha1.DirectionInSync)
	same(t, alice, name)
}
