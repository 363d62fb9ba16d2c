package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// shownNames is how many contracts a condition's message names.
const shownNames = 5

// condition that holds or doesn't since a time; generation 0: it is no answer to what is
// declared.
func condition(kind string, is bool, reason, message string, generation int64, now time.Time) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	}
}

// conditions of the deployment: ours are set, the storage's are kept. next is what will
// be done.
func (o *Observed) conditions(m mode, results []result, next *Decision) []metav1.Condition {
	out := slices.Clone(o.Deployment.Status.Conditions)
	set := func(kind string, is bool, reason, message string) {
		meta.SetStatusCondition(&out, condition(kind, is, reason, message, o.Deployment.Generation, o.Now))
	}
	ready, reason, message := o.ready(m, results)
	set(v1alpha1.ConditionReady, ready, reason, message)

	requested := slices.ContainsFunc(results, func(r result) bool { return r.entry != nil })
	switch stale := namesOf(results, func(r result) bool { return r.stale }); {
	case stale != "":
		set(v1alpha1.ConditionContractsCurrent, false, "Changed", "declared otherwise than they were requested: "+stale+"; stage and request them again to have it so")
	case requested:
		set(v1alpha1.ConditionContractsCurrent, true, "AsRequested", "")
	default:
		meta.RemoveStatusCondition(&out, v1alpha1.ConditionContractsCurrent)
	}
	switch blocked := namesOf(results, func(r result) bool { return r.blocked }); {
	case blocked != "":
		set(v1alpha1.ConditionExecuting, false, o.Gate.Reason, fmt.Sprintf("%s; waiting: %s", o.Gate.Message, blocked))
	case requested:
		set(v1alpha1.ConditionExecuting, true, "Allowed", "")
	default:
		meta.RemoveStatusCondition(&out, v1alpha1.ConditionExecuting)
	}
	o.admittedCondition(&out, set, results, next)
	workspaceCondition(o.Workspace, &out, "it is kept, and nothing new is requested", set)
	return out
}

// ready tells whether every contract is in the phase that its state asks for.
func (o *Observed) ready(m mode, results []result) (is bool, reason, message string) {
	switch m {
	case modeDeleting:
		return false, "Deleting", ""
	case modeEnding:
		return false, "Ended", ""
	case modeExpired:
		return false, "Expired", "its record had expired when it was first seen: it is shown only"
	}
	other := namesOf(results, func(r result) bool { return !o.asAsked(m, r) })
	over := namesOf(results, func(r result) bool { return o.over(m, r) })
	switch {
	case other == "":
		return true, "AsAsked", ""
	case slices.ContainsFunc(results, func(r result) bool { return r.status != nil && r.status.Phase == v1alpha1.ContractPhaseFailed }):
		reason = "Failed"
	case other == over:
		reason = "Over" // nothing is in progress
	default:
		reason = "InProgress"
	}
	message = "not in the phase that is asked for: " + other
	if over != "" {
		message += "; over, stage and request again to have them anew: " + over
	}
	return false, reason, message
}

// over tells of a contract that is still requested, and in a phase that is final.
func (o *Observed) over(m mode, r result) bool {
	return r.status != nil && m.want(o.Deployment.contract(r.name)) == wantRequested &&
		(r.status.Phase == v1alpha1.ContractPhaseReleased || r.status.Phase == v1alpha1.ContractPhaseFailed)
}

func (o *Observed) asAsked(m mode, r result) bool {
	phase := v1alpha1.ContractPhase("")
	if r.status != nil {
		phase = r.status.Phase
	}
	switch m.want(o.Deployment.contract(r.name)) {
	case wantStaged:
		return phase == v1alpha1.ContractPhaseStaged
	case wantRequested:
		return phase == v1alpha1.ContractPhaseDeployed
	case wantReleased:
		return phase == v1alpha1.ContractPhaseReleased
	}
	return r.entry == nil
}

// namesOf the contracts that are so; "": none.
func namesOf(results []result, so func(result) bool) string {
	var names []string
	for _, r := range results {
		if so(r) {
			names = append(names, r.name)
		}
	}
	return some(names)
}

// some of the names, and how many more there are.
func some(names []string) string {
	if n := len(names) - shownNames; n > 0 {
		names = append(names[:shownNames], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}
