package lifecycle

import (
	metav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	apply "socialweb.computer/infra-apiserver/pkg/generated/applyconfiguration/socialweb/v1alpha1"
)

// Labels are on every ComputeContract of a deployment. Another deployment whose name
// is as long may share them: the owner reference decides.
func Labels(d *Deployment) map[string]string {
	return map[string]string{v1alpha1.LabelKind: d.Kind, v1alpha1.LabelName: v1alpha1.LabelValue(d.Name)}
}

// Application is what is applied for an action Create.
func Application(d *Deployment, a *Action) *apply.ComputeContractApplyConfiguration {
	s := a.Spec
	spec := apply.ComputeContractSpec().
		WithBidderDIDs(s.BidderDIDs...).
		WithDenyBidderDIDs(s.DenyBidderDIDs...).
		WithSSHAuthorizedKeys(s.SSHAuthorizedKeys...).
		WithPolicyArgs(s.PolicyArgs...)
	setText(&spec.VMName, s.VMName)
	setText(&spec.UserData, s.UserData)
	setText(&spec.Policy, s.Policy)
	spec.VMReadyTimeoutSec = s.VMReadyTimeoutSec
	if s.SecretsRef != nil {
		ref := apply.SecretReference().WithName(s.SecretsRef.Name)
		setText(&ref.Namespace, s.SecretsRef.Namespace)
		spec.WithSecretsRef(ref)
	}
	owner := metav1.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind(d.Kind).WithName(d.Name).WithUID(d.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	return apply.ComputeContract(a.Name).
		WithLabels(Labels(d)).
		WithLabels(map[string]string{v1alpha1.LabelContract: a.Contract}).
		WithFinalizers(v1alpha1.FinalizerRelease).
		WithOwnerReferences(owner).
		WithSpec(spec)
}

// setText leaves a field out where it is empty.
func setText(field **string, s string) {
	if s != "" {
		*field = &s
	}
}
