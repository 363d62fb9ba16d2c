//go:build e2e

package contracts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// ACC29-STAGED-NO-RFP: a staged contract is declared and nothing more. No ComputeContract
// is made for it, then or later, and nothing but our own records is in the repository.
func TestStagedNoRFP(t *testing.T) {
	t.Parallel()
	alice := plane.Account(t, "alice")
	h := followContracts(t)
	name := bound(t, "")
	awaitInfra(t, name, inPhase(v1alpha1.PhaseStaged, "web=Staged"))
	if got := contracts(record(t, alice, name).Value); !slices.Equal(got, []string{"web=staged"}) {
		t.Errorf("the record declares %v", got)
	}
	awaitRecord(t, alice, harness.InfraCollection, name, hasPhase("staged", "web=staged"))
	same(t, alice, name)
	if all := h.of(t, name); len(all) > 0 {
		t.Errorf("ComputeContracts were made: %v", all)
	}
	collections, err := alice.Collections(t.Context())
	if err != nil || slices.ContainsFunc(collections, func(c string) bool { return strings.Contains(c, "market") }) {
		t.Errorf("collections of the repository: %v %v", collections, err)
	}
}

// ACC29-REQUEST-DEPLOY: one patch requests the contract. Its ComputeContract is the
// Infra's; what the fulfiller makes of it is in the Infra, and in the record. The name of
// the Secret is in the ComputeContract, and in no record.
func TestRequestDeploy(t *testing.T) {
	t.Parallel()
	alice, f := plane.Account(t, "alice"), plane.Fulfiller(t)
	h := followContracts(t)
	name := bound(t, "", func(o *v1alpha1.Infra) {
		o.Spec.Contracts[0].Policy = "cheapest"
		o.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "web", SecretRef: v1alpha1.SecretReference{Name: "hidden-" + o.Name}}}
	})
	awaitInfra(t, name, inPhase(v1alpha1.PhaseStaged, "web=Staged"))
	plane.Kubectl(t).Run(t, "patch", "infra", name, "-p", `{"spec":{"contracts":[{"name":"web","state":"Requested"}]}}`)
	c := f.Await(t, computeName(name), func(*v1alpha1.ComputeContract) error { return nil })
	owned(t, c, name)
	if c.Spec.Policy != "cheapest" || c.Spec.SecretsRef == nil || c.Spec.SecretsRef.Name != "hidden-"+name || c.Spec.Release {
		t.Errorf("spec of the ComputeContract: %+v", c.Spec)
	}
	f.Claim(t, c.Name)
	awaitInfra(t, name, inPhase(v1alpha1.PhaseDeploying, "web=Requesting"))
	f.Hold(t, c.Name)
	o := awaitInfra(t, name, inPhase(v1alpha1.PhaseDeployed, "web=Deployed"))
	if s := o.Status.Contracts[0]; s.Winner != harness.Winner || s.Receipt != harness.Receipt {
		t.Errorf("status of the contract: %+v", s)
	}
	awaitRecord(t, alice, harness.InfraCollection, name, func(value map[string]any) error {
		said := fmt.Sprint(value)
		if strings.Contains(said, "hidden-") {
			return errors.New("the name of the Secret is in it")
		}
		if !strings.Contains(said, "winner:"+harness.Winner) || !strings.Contains(said, "receipt:"+harness.Receipt) {
			return errors.New("without winner and receipt")
		}
		return hasPhase("deployed", "web=deployed")(value)
	})
	same(t, alice, name)
	if all := h.of(t, name); len(all) != 1 {
		t.Errorf("for one contract: %v", all)
	}
	events(t, name, alice.URI(harness.InfraCollection, name))
	sound(t)
}

// events awaits that the cluster has Events of an Infra, and of its contract, that name
// the record. (Some may be missing: a controller that dies takes its last ones along.)
func events(t *testing.T, infra, uri string) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		list, err := plane.Admin().Core.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "regarding.kind=Infra,regarding.name=" + infra})
		if err != nil {
			return err
		}
		var told []string
		for _, e := range list.Items {
			told = append(told, e.Reason+": "+e.Note)
		}
		for _, about := range []string{"deployment is ", "contract web is "} {
			if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, about) && strings.Contains(s, uri) }) {
				return fmt.Errorf("no event says what a %q with %s: %v", about, uri, told)
			}
		}
		return nil
	})
}

// sound says whether the controllers lacked a right, or panicked. What a policy forbids
// (denied_test.go) is no right.
func sound(t *testing.T) {
	t.Helper()
	for _, c := range plane.Controllers {
		for line := range strings.Lines(plane.Log(t, c.Name)) {
			if low := strings.ToLower(line); strings.Contains(low, "forbidden") && !strings.Contains(low, "validatingadmissionpolicy") || strings.Contains(low, "panic") {
				t.Errorf("%s: %s", c.Name, line)
			}
		}
	}
}

// owned says whether a ComputeContract is an Infra's, and nobody else's.
func owned(t *testing.T, c *v1alpha1.ComputeContract, infra string) {
	t.Helper()
	o, err := infras().Get(t.Context(), infra, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.GetControllerOf(c)
	if owner == nil || owner.Kind != "Infra" || owner.Name != o.Name || owner.UID != o.UID || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("owner of the ComputeContract: %+v", owner)
	}
	for label, want := range map[string]string{v1alpha1.LabelKind: "Infra", v1alpha1.LabelName: infra, v1alpha1.LabelContract: "web"} {
		if c.Labels[label] != want {
			t.Errorf("label %s is %q", label, c.Labels[label])
		}
	}
	if !slices.Contains(c.Finalizers, v1alpha1.FinalizerRelease) {
		t.Errorf("finalizers %v", c.Finalizers)
	}
	for _, m := range c.ManagedFields {
		if m.Operation == metav1.ManagedFieldsOperationApply && !strings.HasPrefix(m.Manager, "infra-controller/") {
			t.Errorf("applied by %s", m.Manager)
		}
	}
}
