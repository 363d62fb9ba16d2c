package harness

import (
	"context"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Policy is a ValidatingAdmissionPolicy that is asked of some objects.
type Policy struct {
	Name     string
	Selector *metav1.LabelSelector
	Rule     admissionregistrationv1.RuleWithOperations
	// Allows is the CEL of what passes; Message is what is said of the rest.
	Allows, Message string
}

// Deny makes a policy and binds it. It isn't in force yet: each replica learns of it by a
// watch of its own. end, or the test's end, takes it away.
func (p *Plane) Deny(t testing.TB, policy Policy) (end func()) {
	t.Helper()
	api, meta := p.Admin().Core.AdmissionregistrationV1(), metav1.ObjectMeta{Name: policy.Name}
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ObjectSelector: policy.Selector,
				ResourceRules:  []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: policy.Rule}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: policy.Allows, Message: policy.Message}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.ValidatingAdmissionPolicies().Delete(context.WithoutCancel(t.Context()), policy.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := api.ValidatingAdmissionPolicyBindings().Delete(context.WithoutCancel(t.Context()), policy.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}
