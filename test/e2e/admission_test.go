//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// denial is the CEL of a policy that denies what asks for it (see admitted).
const denial = `request.operation == "DELETE" ? oldObject.spec.description != "denied" :
	request.?subResource.orValue("") == "status" ? object.status.phase != "Degraded" : object.spec.description != "denied"`

// A ValidatingAdmissionPolicy of the cluster is asked for every verb, and what it says
// reaches the client (mckinsey/agents-at-scale-ark#2684, kubernetes/sample-apiserver#21).
func TestAdmissionPolicyIsCalled(t *testing.T) {
	t.Parallel()
	a := newAdmitted(t)
	message := "the policy " + a.label + " says no"
	plane.Deny(t, harness.Policy{Name: a.label, Selector: a.selector(), Rule: everything(), Allows: denial, Message: message})
	a.inForce(t, "says no")
	a.deniesEveryVerb(t, message)
}

// everything is every operation on Infras and their status.
func everything() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"socialweb.computer"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"infras", "infras/status"},
		},
	}
}

// inForce waits until every replica denies: each learns of it by a watch of its own.
func (a *admitted) inForce(t *testing.T, word string) {
	t.Helper()
	for _, r := range plane.Replicas {
		infras := harness.NewClients(t, r.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras()
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := infras.Create(ctx, a.object("try", "denied"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), word) {
				return fmt.Errorf("%s: a create that is to be denied: %w", r.Name, err)
			}
			return nil
		})
	}
}

// deniesEveryVerb tries each verb with what is denied, which must change nothing, and
// with something else, which must go through.
func (a *admitted) deniesEveryVerb(t *testing.T, message string) {
	t.Helper()
	for _, v := range a.verbs() {
		before := a.state(t)
		err := v.do(t.Context(), "denied", "Degraded")
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want a refusal with %q", v.name, err, message)
		}
		if after := a.state(t); after != before {
			t.Errorf("%s was refused and changed\n%s\nto\n%s", v.name, before, after)
		}
		if err := v.do(t.Context(), "fine", "Staged"); err != nil {
			t.Errorf("%s of what is allowed: %v", v.name, err)
		}
	}
}
