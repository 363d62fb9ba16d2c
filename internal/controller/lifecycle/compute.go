package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// ContractVerb is what becomes of a ComputeContract by itself.
type ContractVerb string

const (
	// Leave it as it is.
	Leave ContractVerb = "Leave"
	// Withdraw makes a Pending one Released: nobody has taken it on. It takes the
	// resourceVersion, for a fulfiller may just do so.
	Withdraw ContractVerb = "Withdraw"
	// Return sets spec.release.
	Return ContractVerb = "Return"
	// Remove deletes it.
	Remove ContractVerb = "Remove"
	// Free takes the finalizer off.
	Free ContractVerb = "Free"
)

// Holder is who stands behind a ComputeContract.
type Holder int

const (
	// HolderNone: no deployment, somebody made it by hand.
	HolderNone Holder = iota
	// HolderUnaware: a deployment that hasn't recorded its outcome.
	HolderUnaware
	// HolderKnows: a deployment that has.
	HolderKnows
	// HolderGone: a deployment that isn't there any more.
	HolderGone
)

// HolderOf is what a deployment is to a ComputeContract that it owns.
func HolderOf(d *Deployment, cc *v1alpha1.ComputeContract) Holder {
	for i := range d.Status.Requests {
		r := &d.Status.Requests[i]
		if r.UID != cc.UID {
			continue
		}
		// Nobody asks any more how one ended that was staged or dropped. One that goes
		// with its deployment counts to the end.
		if terminal(d.lastPhase(r.Contract)) || r.Superseded && d.DeletionTimestamp == nil {
			return HolderKnows
		}
	}
	return HolderUnaware
}

// DecideContract says what becomes of a ComputeContract, and when to look again;
// zero: when something happens.
func DecideContract(cc *v1alpha1.ComputeContract, h Holder, now time.Time) (verb ContractVerb, at time.Time) {
	deleting := cc.DeletionTimestamp != nil
	if !Finished(cc) {
		unwanted := deleting || h == HolderGone
		switch pending := cc.Status.Phase == "" || cc.Status.Phase == v1alpha1.ComputePending; {
		case pending && (unwanted || cc.Spec.Release):
			return Withdraw, time.Time{}
		case unwanted && !cc.Spec.Release:
			return Return, time.Time{}
		}
		return Leave, time.Time{}
	}
	switch {
	case deleting && h != HolderUnaware && slices.Contains(cc.Finalizers, v1alpha1.FinalizerRelease):
		return Free, time.Time{}
	case deleting:
		return Leave, time.Time{}
	case h == HolderGone:
		return Remove, time.Time{}
	}
	if ttl := cc.Spec.TTLSecondsAfterFinished; ttl != nil && cc.Status.FinishedAt != nil {
		at = cc.Status.FinishedAt.Add(time.Duration(*ttl) * time.Second)
		if !at.After(now) {
			return Remove, time.Time{}
		}
	}
	return Leave, at
}

// HolderUID is the uid of the deployment that controls a ComputeContract; "": none
// does.
func HolderUID(cc *v1alpha1.ComputeContract) types.UID {
	if ref := OwnerOf(cc); ref != nil {
		return ref.UID
	}
	return ""
}
