package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Observed is all that a decision depends on. The deployment must have been read
// before everything else: what the status write then proves is that no other caller
// has changed it since, so that a ComputeContract which was seen afterwards and has
// no entry was made by a caller that came too late.
type Observed struct {
	// Deployment as it was read, perhaps from a cache.
	Deployment *Deployment
	// Now is the time of the decision.
	Now time.Time
	// Gate is the verdict on its execution.
	Gate Verdict
	// Workspace of the deployment, as the gate has it.
	Workspace Workspace
	// Found by contract: the answers to Questions. Nil: nothing stands there.
	Found map[string]*v1alpha1.ComputeContract
	// Unnamed are the ComputeContracts which the deployment owns, which no entry
	// names, and which a live read has shown to be there.
	Unnamed []*v1alpha1.ComputeContract
	// Listed says that Unnamed is complete, by a live list.
	Listed bool
}

// Question asks for a ComputeContract.
type Question struct {
	// Contract that it stands, or would stand, for.
	Contract string
	// Name of it.
	Name string
	// UID of it; "": whatever has the name, and a cache won't do. With a UID an
	// object of a cache is an answer, but that there is none is not.
	UID types.UID
}

// Questions are what has to be known of single ComputeContracts for a decision.
func Questions(d *Deployment, gate Verdict) []Question {
	var out []Question
	m := modeOf(d)
	for _, r := range d.Status.Requests {
		if w := m.want(d.contract(r.Contract)); settled(d, &r) && w != wantStaged && w != wantDropped {
			continue
		}
		out = append(out, Question{Contract: r.Contract, Name: r.ComputeContract, UID: r.UID})
	}
	for i := range d.Spec.Contracts {
		c := &d.Spec.Contracts[i]
		if d.request(c.Name) == nil && m.want(c) == wantRequested && startable(d.lastPhase(c.Name)) && gate.Allowed {
			out = append(out, Question{Contract: c.Name, Name: ContractName(d, c.Name)})
		}
	}
	return out
}

// settled tells whether the outcome of a request is recorded: nothing that is found
// changes it.
func settled(d *Deployment, r *v1alpha1.ContractRequest) bool {
	return r.UID != "" && !r.Superseded && terminal(d.lastPhase(r.Contract))
}

// startable is the phase of a contract that may be requested.
func startable(p v1alpha1.ContractPhase) bool { return p == "" || p == v1alpha1.ContractPhaseStaged }

// NeedsList tells whether a decision takes a live list of the deployment's
// ComputeContracts: before it lets go of the last, and where its status tells of one
// that has no entry (its private part was lost).
func NeedsList(d *Deployment) bool {
	if modeOf(d) == modeDeleting && len(d.Status.Requests) == 0 {
		return true
	}
	for _, s := range d.Status.Contracts {
		if active(s.Phase) && d.request(s.Name) == nil {
			return true
		}
	}
	return false
}

// Names tells whether an entry stands for a ComputeContract of the deployment.
func (d *Deployment) Names(c *v1alpha1.ComputeContract) bool {
	for _, r := range d.Status.Requests {
		if r.UID == c.UID || r.UID == "" && r.ComputeContract == c.Name {
			return true
		}
	}
	return false
}
