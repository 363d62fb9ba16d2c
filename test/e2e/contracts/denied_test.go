//go:build e2e

package contracts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A policy of the cluster denies a ComputeContract: the Infra says so, in the policy's
// words, and so does an Event; the record says nothing of it. Once the policy is gone the
// contract is requested by itself.
func TestPolicyDeniesContract(t *testing.T) {
	t.Parallel()
	alice := plane.Account(t, "alice")
	name := bound(t, "")
	settled(t, alice, name)
	const words = "no guests on a Monday"
	end := denyContractsOf(t, name, words)
	plane.Kubectl(t).Run(t, "patch", "infra", name, "-p", `{"spec":{"contracts":[{"name":"web","state":"Requested"}]}}`)

	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if err := condition(o.Status.Conditions, v1alpha1.ConditionContractsAdmitted, metav1.ConditionFalse, v1alpha1.ReasonDenied); err != nil {
			return err
		}
		said := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionContractsAdmitted).Message
		if !strings.HasPrefix(said, "creation refused: web: ") || !strings.Contains(said, words) {
			return fmt.Errorf("it says %q", said)
		}
		return inPhase(v1alpha1.PhaseDeploying, "web=Requesting")(o)
	})
	harness.Eventually(t, func(ctx context.Context) error {
		list, err := plane.Admin().Core.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "regarding.kind=Infra,regarding.name=" + name})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if strings.Contains(e.Note, words) {
				return nil
			}
		}
		return fmt.Errorf("none of %d Events says %q", len(list.Items), words)
	})
	awaitRecord(t, alice, harness.InfraCollection, name, hasPhase("deploying", "web=requesting"))
	if said := fmt.Sprint(record(t, alice, name).Value); strings.Contains(said, words) {
		t.Errorf("the record tells of it: %s", said)
	}

	end()
	plane.Fulfiller(t).Await(t, computeName(name), func(*v1alpha1.ComputeContract) error { return nil })
	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionContractsAdmitted); c != nil {
			return fmt.Errorf("it still says %+v", c)
		}
		return nil
	})
}

// denyContractsOf makes a policy that denies the ComputeContracts of an Infra, and returns
// once it is in force on every replica.
func denyContractsOf(t *testing.T, infra, words string) (end func()) {
	t.Helper()
	labels := map[string]string{v1alpha1.LabelKind: "Infra", v1alpha1.LabelName: infra}
	end = plane.Deny(t, harness.Policy{
		Name: infra, Selector: &metav1.LabelSelector{MatchLabels: labels}, Allows: "false", Message: words,
		Rule: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{v1alpha1.SchemeGroupVersion.Group}, APIVersions: []string{"v1alpha1"}, Resources: []string{"computecontracts"},
			},
		},
	})
	try := &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: infra + "-try", Labels: labels}}
	for _, r := range plane.Replicas {
		contracts := harness.NewClients(t, r.Direct(plane.Config())).Infra.SocialwebV1alpha1().ComputeContracts()
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := contracts.Create(ctx, try, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), words) {
				return fmt.Errorf("%s: a ComputeContract that is to be denied: %w", r.Name, err)
			}
			return nil
		})
	}
	return end
}
