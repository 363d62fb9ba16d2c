package lifecycle

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// retryTaken is how long until a name that belongs to another is looked at again.
const retryTaken = time.Minute

// Decision is what is to be done.
type Decision struct {
	// Hold says that the deployment lacks the finalizer. It has to be put on before the
	// status is written: what has an entry may have a ComputeContract.
	Hold bool
	// Status that the deployment shall have. It shares memory with the old one.
	Status v1alpha1.EphemeralInfraStatus
	// Changed says that Status isn't what it was: it has to be written first.
	Changed bool
	// Actions to take then, in this order.
	Actions []Action
	// At is when to look again though nothing has happened; zero: never.
	At time.Time
}

// Decide what becomes of a deployment.
func Decide(o *Observed) Decision {
	d := o.Deployment
	m := modeOf(d)
	adopted, strays := adopt(o, m)
	results := o.steps(m, adopted)

	status := d.Status
	if reason := o.ends(m, results); reason != "" {
		at := metav1.NewTime(o.Now).Rfc3339Copy()
		status.EndedAt, status.EndReason = &at, reason
		m = modeEnding
		results = o.steps(m, adopted)
	}
	status.ObservedGeneration = d.Generation
	status.Requests, status.Contracts = nil, nil
	for _, r := range results {
		if r.entry != nil {
			status.Requests = append(status.Requests, *r.entry)
		}
		if r.status != nil && nameable(r.name) {
			status.Contracts = append(status.Contracts, admissible(*r.status))
		}
	}
	fit(status.Contracts)
	status.Phase = deploymentPhase(m, status.Contracts)

	out := Decision{Status: status}
	o.follow(&out, m, results, strays)
	out.Status.Conditions = o.conditions(m, results, &out)
	out.Changed = !equality.Semantic.DeepEqual(out.Status, d.Status)
	return out
}

// ends tells why a deployment ends now; "": it doesn't.
func (o *Observed) ends(m mode, results []result) v1alpha1.EndReason {
	switch {
	case m != modeLive:
		return ""
	case overdue(o.Deployment, o.Now):
		return v1alpha1.EndedDeadline
	case complete(o.Deployment, results):
		return v1alpha1.EndedComplete
	}
	return ""
}

// follow adds to a decision what follows from its status: what to do, and when to look
// again.
func (o *Observed) follow(out *Decision, m mode, results []result, strays []*v1alpha1.ComputeContract) {
	d := o.Deployment
	for _, r := range results {
		out.Actions = append(out.Actions, r.acts...)
	}
	for _, cc := range strays {
		out.Actions = append(out.Actions, sendAway(cc)...)
	}
	requests, held := len(out.Status.Requests), slices.Contains(d.Finalizers, v1alpha1.FinalizerRelease)
	out.Hold = !held && m != modeDeleting && requests > 0
	switch {
	case m == modeDeleting && o.Listed && len(o.Unnamed) == 0 && requests == 0 && held:
		out.Actions = append(out.Actions, Action{Do: LetGo})
	case m == modeEnding && !slices.ContainsFunc(results, result.busy):
		out.Actions = append(out.Actions, Action{Do: End})
	case m == modeLive && d.Kind == KindEphemeralInfra && d.Status.ExpiresAt != nil:
		out.At = d.Status.ExpiresAt.Time
	}
	again := o.Now.Add(retryTaken)
	if slices.ContainsFunc(results, func(r result) bool { return r.again }) && (out.At.IsZero() || again.Before(out.At)) {
		out.At = again
	}
}

// steps decides each contract: the declared ones in their order, then those that are
// declared no more.
func (o *Observed) steps(m mode, adopted []v1alpha1.ContractRequest) []result {
	d := o.Deployment
	entries := map[string]*v1alpha1.ContractRequest{}
	for i := range d.Status.Requests {
		entries[d.Status.Requests[i].Contract] = &d.Status.Requests[i]
	}
	for i := range adopted {
		entries[adopted[i].Contract] = &adopted[i]
	}
	var out []result
	room := maxRequests - len(entries)
	for _, name := range d.names(entries) {
		s := step{Observed: o, mode: m, want: m.want(d.contract(name)), name: name, entry: entries[name], last: d.last(name)}
		s.room = room > 0 || s.entry != nil
		if s.found, s.known = o.Found[name]; s.entry != nil && d.request(name) == nil {
			s.found, s.known = o.unnamed(s.entry.UID), true // just adopted
		}
		r := s.decide()
		if s.entry == nil && r.entry != nil {
			room--
		}
		out = append(out, r)
	}
	return out
}

// names of the contracts that are declared, requested or shown.
func (d *Deployment) names(entries map[string]*v1alpha1.ContractRequest) []string {
	var declared, others []string
	for i := range d.Spec.Contracts {
		declared = append(declared, d.Spec.Contracts[i].Name)
	}
	note := func(name string) {
		if d.contract(name) == nil && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	for name := range entries {
		note(name)
	}
	for i := range d.Status.Contracts {
		note(d.Status.Contracts[i].Name)
	}
	slices.SortFunc(others, strings.Compare)
	return append(declared, others...)
}

func (o *Observed) unnamed(uid types.UID) *v1alpha1.ComputeContract {
	for _, cc := range o.Unnamed {
		if cc.UID == uid {
			return cc
		}
	}
	return nil
}

// busy tells whether a ComputeContract of the contract may not be finished.
func (r result) busy() bool {
	return r.entry != nil && (r.entry.Superseded && r.notDeleted() || r.status != nil && !terminal(r.status.Phase))
}

// notDeleted is where a superseded ComputeContract still has to be released.
func (r result) notDeleted() bool {
	return !slices.ContainsFunc(r.acts, func(a Action) bool { return a.Do == Delete })
}
