package lifecycle

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// contractSpec is what a ComputeContract asks for on behalf of a contract.
func contractSpec(d *Deployment, c *v1alpha1.Contract) *v1alpha1.ComputeContractSpec {
	spec := &v1alpha1.ComputeContractSpec{
		VMName: c.VMName, BidderDIDs: c.BidderDIDs, DenyBidderDIDs: c.DenyBidderDIDs, SSHAuthorizedKeys: c.SSHAuthorizedKeys,
		UserData: c.UserData, Policy: c.Policy, PolicyArgs: c.PolicyArgs, VMReadyTimeoutSec: c.VMReadyTimeoutSec,
	}
	for i := range d.Spec.Secrets {
		if d.Spec.Secrets[i].Contract == c.Name {
			spec.SecretsRef = &d.Spec.Secrets[i].SecretRef
		}
	}
	return spec.DeepCopy()
}

// current tells whether a ComputeContract asks for what the contract declares now.
// What no contract can declare is not looked at.
func current(d *Deployment, c *v1alpha1.Contract, cc *v1alpha1.ComputeContract) bool {
	now := contractSpec(d, c)
	was := cc.Spec
	was.Resources, was.Image, was.Release, was.TTLSecondsAfterFinished = nil, "", false, nil
	return equality.Semantic.DeepEqual(now, &was)
}
