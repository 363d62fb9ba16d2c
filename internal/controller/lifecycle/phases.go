package lifecycle

import "socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"

// contractPhases of the phases of a ComputeContract. One that has none yet is
// Pending: where the kind is a CRD nobody sets it at creation.
var contractPhases = map[v1alpha1.ComputeContractPhase]v1alpha1.ContractPhase{
	"":                         v1alpha1.ContractPhaseRequesting,
	v1alpha1.ComputePending:    v1alpha1.ContractPhaseRequesting,
	v1alpha1.ComputeRequesting: v1alpha1.ContractPhaseRequesting,
	v1alpha1.ComputeHeld:       v1alpha1.ContractPhaseDeployed,
	v1alpha1.ComputeReleasing:  v1alpha1.ContractPhaseReleasing,
	v1alpha1.ComputeReleased:   v1alpha1.ContractPhaseReleased,
	v1alpha1.ComputeFailed:     v1alpha1.ContractPhaseFailed,
}

// terminal tells whether nothing follows a phase until the contract is staged again.
func terminal(p v1alpha1.ContractPhase) bool {
	return p == v1alpha1.ContractPhaseReleased || p == v1alpha1.ContractPhaseFailed
}

// active tells whether a phase says that a ComputeContract is at work.
func active(p v1alpha1.ContractPhase) bool {
	return p == v1alpha1.ContractPhaseRequesting || p == v1alpha1.ContractPhaseDeployed || p == v1alpha1.ContractPhaseReleasing
}

// Finished tells whether a ComputeContract is Released or has Failed: nothing of it
// runs, and it never changes again.
func Finished(c *v1alpha1.ComputeContract) bool {
	return c.Status.Phase == v1alpha1.ComputeReleased || c.Status.Phase == v1alpha1.ComputeFailed
}

// deploymentPhase sums up: the first that fits.
func deploymentPhase(m mode, contracts []v1alpha1.ContractStatus) v1alpha1.DeploymentPhase {
	switch m {
	case modeDeleting:
		return v1alpha1.PhaseDeleting
	case modeEnding:
		return v1alpha1.PhaseEnding
	}
	has := map[v1alpha1.ContractPhase]bool{}
	for _, c := range contracts {
		has[c.Phase] = true
	}
	for _, p := range []struct {
		any v1alpha1.ContractPhase
		is  v1alpha1.DeploymentPhase
	}{
		{v1alpha1.ContractPhaseFailed, v1alpha1.PhaseDegraded},
		{v1alpha1.ContractPhaseRequesting, v1alpha1.PhaseDeploying},
		{v1alpha1.ContractPhaseReleasing, v1alpha1.PhaseReleasing},
		{v1alpha1.ContractPhaseDeployed, v1alpha1.PhaseDeployed},
		{v1alpha1.ContractPhaseReleased, v1alpha1.PhaseReleased},
	} {
		if has[p.any] {
			return p.is
		}
	}
	if m == modeExpired {
		return v1alpha1.PhaseReleased
	}
	return v1alpha1.PhaseStaged
}
