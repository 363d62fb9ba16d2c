package lifecycle

import (
	"slices"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// adopt gives an entry to each ComputeContract that has lost its own, one a contract,
// and returns the others. Two things lose an entry: views that were built again from
// their records, and a caller that created it after another had ended the attempt.
// That the entry is missing now is proven by the status write.
func adopt(o *Observed, m mode) (adopted []v1alpha1.ContractRequest, strays []*v1alpha1.ComputeContract) {
	d := o.Deployment
	for _, cc := range o.Unnamed {
		name := cc.Labels[v1alpha1.LabelContract]
		taken := d.request(name) != nil || slices.ContainsFunc(adopted, func(r v1alpha1.ContractRequest) bool { return r.Contract == name })
		// What came to its end isn't requested again: this one was sent too late.
		late := terminal(d.lastPhase(name))
		if !nameable(name) || taken || late {
			strays = append(strays, cc)
			continue
		}
		w := m.want(d.contract(name))
		adopted = append(adopted, v1alpha1.ContractRequest{
			Contract: name, ComputeContract: cc.Name, UID: cc.UID,
			Superseded: w == wantStaged || w == wantDropped,
		})
	}
	return adopted, strays
}

// sendAway ends a ComputeContract that nothing stands behind.
func sendAway(cc *v1alpha1.ComputeContract) []Action {
	a := Action{Name: cc.Name, UID: cc.UID, Contract: cc.Labels[v1alpha1.LabelContract], Confirm: true}
	switch {
	case !Finished(cc) && cc.Spec.Release:
		return nil
	case !Finished(cc):
		a.Do = Release
	case cc.DeletionTimestamp == nil:
		a.Do = Delete
	case slices.Contains(cc.Finalizers, v1alpha1.FinalizerRelease):
		a.Do, a.Seen = Forget, cc
	default:
		return nil
	}
	return []Action{a}
}
