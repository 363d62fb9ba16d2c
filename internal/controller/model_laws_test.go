package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// laws are what may never happen, whatever the schedule:
//
//	L1 an attempt is begun by a status write, on a contract that is Requested, of a
//	   live deployment, that has come to no end yet
//	L2 a ComputeContract is created for an attempt, once, and two of one contract are
//	   never at work
//	L3 nobody is released who was not asked to be
//	L4 nothing is deleted before it is Released or has Failed
//	L5 no ComputeContract goes before its deployment has recorded how it ended
//	L6 what has come to its end stays so until it is staged again
//	L7 a deployment ends once, and not before its time
//	L8 no deployment goes before its ComputeContracts
//	L9 nothing is said to have vanished that was not taken away by force
//	L10 nothing is requested for a deployment that was not shown to be as it was read
//	L11 no attempt is begun by who knows that the workspace is gone, or doesn't know and
//	   was told so before; who doesn't know says nothing of it, and who does says it
//	L12 nothing is said to be refused that was not, and a refusal is said once
//
// A ComputeContract is late when its attempt was over at its creation: another
// controller had ended it between the creator's last look and its apply. The rules
// on what it stands for don't count for one, but it has to go.
type laws struct {
	*world
	fail     func(string, ...any)
	attempts map[owned][]*attempt
	late     map[types.UID]bool
	// forced were taken away by force, or lost what stood for them.
	forced map[owned]bool
}

// owned is a contract of a deployment.
type owned struct {
	owner    types.UID
	contract string
}

// attempt is one request of a contract.
type attempt struct {
	name    string
	created int
	// asked to be released, at any time since.
	asked bool
	// ends with its deployment, which has to tell how.
	ends bool
}

func newLaws(w *world, fail func(string, ...any)) *laws {
	return &laws{world: w, fail: fail, attempts: map[owned][]*attempt{}, late: map[types.UID]bool{}, forced: map[owned]bool{}}
}

func ownedBy(cc *v1alpha1.ComputeContract) owned {
	return owned{lifecycle.HolderUID(cc), cc.Labels[v1alpha1.LabelContract]}
}

func entryOf(d *lifecycle.Deployment, contract string) *v1alpha1.ContractRequest {
	for i := range d.Status.Requests {
		if d.Status.Requests[i].Contract == contract {
			return &d.Status.Requests[i]
		}
	}
	return nil
}

func stateOf(d *lifecycle.Deployment, contract string) v1alpha1.ContractState {
	for _, c := range d.Spec.Contracts {
		if c.Name == contract {
			return c.State
		}
	}
	return ""
}

func phaseOf(d *lifecycle.Deployment, contract string) v1alpha1.ContractPhase {
	for _, c := range d.Status.Contracts {
		if c.Name == contract {
			return c.Phase
		}
	}
	return ""
}

func over(p v1alpha1.ContractPhase) bool {
	return p == v1alpha1.ContractPhaseReleased || p == v1alpha1.ContractPhaseFailed
}

func (l *laws) deploymentWritten(was, is *lifecycle.Deployment, gone bool) {
	if was == nil {
		return
	}
	for i := range is.Status.Requests {
		l.entryWritten(was, is, &is.Status.Requests[i])
	}
	for o, all := range l.attempts {
		if s := stateOf(is, o.contract); o.owner == is.UID && (s != v1alpha1.ContractRequested || is.DeletionTimestamp != nil || is.Status.EndedAt != nil) {
			all[len(all)-1].asked = true
		}
	}
	for _, c := range is.Status.Contracts {
		o, before := owned{is.UID, c.Name}, phaseOf(was, c.Name)
		a, b := entryOf(was, c.Name), entryOf(is, c.Name)
		same := a == nil && b == nil || a != nil && b != nil && a.UID == b.UID && !b.Superseded
		if over(before) && c.Phase != before && same && stateOf(is, c.Name) != v1alpha1.ContractStaged && !l.forced[o] {
			l.fail("L6: %s: %s was %s and is %s", is.Name, c.Name, before, c.Phase)
		}
		if c.Phase == v1alpha1.ContractPhaseFailed && before != c.Phase && c.Message != "" && !l.forced[o] {
			l.fail("L9: %s: %s: %s", is.Name, c.Name, c.Message)
		}
	}
	l.endWritten(was, is)
	if !gone {
		return
	}
	for _, cc := range l.at().contracts {
		if o := ownedBy(cc); o.owner == is.UID && !lifecycle.Finished(cc) && !l.late[cc.UID] && !l.forced[o] {
			l.fail("L8: %s is gone and %s is %s", is.Name, cc.Name, cc.Status.Phase)
		}
	}
}

func (l *laws) entryWritten(was, is *lifecycle.Deployment, r *v1alpha1.ContractRequest) {
	o, before := owned{is.UID, r.Contract}, entryOf(was, r.Contract)
	if all := l.attempts[o]; r.Superseded && before != nil && !before.Superseded && is.DeletionTimestamp != nil && len(all) > 0 {
		all[len(all)-1].ends = true
	}
	if r.UID != "" {
		return // known before, or taken in
	}
	if before != nil && before.UID == "" {
		l.attempts[o][len(l.attempts[o])-1].name = r.ComputeContract
		return
	}
	l.attempts[o] = append(l.attempts[o], &attempt{name: r.ComputeContract})
	phase := phaseOf(was, r.Contract)
	startable := phase == "" || phase == v1alpha1.ContractPhaseStaged || before != nil && before.Superseded
	if stateOf(is, r.Contract) != v1alpha1.ContractRequested || is.DeletionTimestamp != nil || is.Status.EndedAt != nil || !startable {
		l.fail("L1: %s: %s requested, state %s, phase %s, deleted %s, ended %s",
			is.Name, r.Contract, stateOf(is, r.Contract), phase, is.DeletionTimestamp, is.Status.EndedAt)
	}
}

func (l *laws) workspaceWritten(was, is *lifecycle.Deployment, saw lifecycle.Workspace) {
	const kind = v1alpha1.ConditionWorkspaceBound
	a, b := meta.FindStatusCondition(was.Status.Conditions, kind), meta.FindStatusCondition(is.Status.Conditions, kind)
	told := a != nil && a.Status == metav1.ConditionFalse
	if saw == lifecycle.WorkspaceGone || saw == lifecycle.WorkspaceUnknown && told {
		for _, r := range is.Status.Requests {
			before := entryOf(was, r.Contract)
			if r.UID == "" && (before == nil || before.UID != "") {
				l.fail("L11: %s: %s is requested and the workspace is gone", is.Name, r.Contract)
			}
		}
	}
	right := false
	switch saw {
	case lifecycle.WorkspaceStays:
		right = b == nil
	case lifecycle.WorkspaceUnknown:
		right = equality.Semantic.DeepEqual(a, b)
	case lifecycle.WorkspaceBound:
		right = (a == nil) == (b == nil) && (b == nil || b.Status == metav1.ConditionTrue)
	case lifecycle.WorkspaceGone:
		right = b != nil && b.Status == metav1.ConditionFalse
	}
	if !right {
		l.fail("L11: %s: workspace %d, and it says %+v after %+v", is.Name, saw, b, a)
	}
}

func (l *laws) refusalWritten(was, is *lifecycle.Deployment, wasRefused bool) {
	a, b := refused(was), refused(is)
	if b == nil || b.Reason == v1alpha1.ReasonNameTaken {
		return
	}
	if a == nil && !wasRefused {
		l.fail("L12: %s: it says %+v", is.Name, b)
	}
	if a != nil && *a != *b && a.ObservedGeneration == b.ObservedGeneration && l.now.Before(a.LastTransitionTime.Add(30*time.Second)) {
		l.fail("L12: %s: it says %+v, and said %+v", is.Name, b, a)
	}
}

func (l *laws) endWritten(was, is *lifecycle.Deployment) {
	a, b := was.Status.EndedAt, is.Status.EndedAt
	switch {
	case a != nil && (!a.Equal(b) || was.Status.EndReason != is.Status.EndReason):
		l.fail("L7: %s ended %s, now %s", is.Name, a, b)
	case a != nil || b == nil || !is.Status.ExpiresAt.After(l.now):
		return
	}
	asked := false
	for _, c := range is.Spec.Contracts {
		begun := entryOf(is, c.Name) != nil || over(phaseOf(was, c.Name)) || c.State == v1alpha1.ContractReleased
		if !l.forced[owned{is.UID, c.Name}] && c.State != v1alpha1.ContractStaged && !(begun && over(phaseOf(is, c.Name))) {
			l.fail("L7: %s ended with %s %s", is.Name, c.Name, phaseOf(was, c.Name))
		}
		asked = asked || c.State != v1alpha1.ContractStaged
	}
	if !asked {
		l.fail("L7: %s ended before anything was asked for", is.Name)
	}
}

func (l *laws) created(cc *v1alpha1.ComputeContract) {
	o := ownedBy(cc)
	d := l.deployment(o.owner)
	var entry *v1alpha1.ContractRequest
	if d != nil {
		entry = entryOf(d, o.contract)
	}
	late := entry == nil || entry.UID != "" || entry.ComputeContract != cc.Name
	l.late[cc.UID] = late
	var of *attempt
	for _, a := range l.attempts[o] {
		if a.name == cc.Name {
			of = a
		}
	}
	if of == nil && !late {
		l.fail("L2: %s was created for nobody", cc.Name)
	}
	if late {
		return
	}
	if of.created++; of.created > 1 && !l.forced[o] {
		l.fail("L2: %s was created twice", cc.Name)
	}
	for _, other := range l.at().contracts {
		if ownedBy(other) == o && !lifecycle.Finished(other) && !l.late[other.UID] && !l.forced[o] {
			l.fail("L2: %s was created beside %s", cc.Name, other.Name)
		}
	}
}

func (l *laws) released(cc *v1alpha1.ComputeContract) {
	o := ownedBy(cc)
	if cc.DeletionTimestamp != nil || l.deployment(o.owner) == nil || l.late[cc.UID] || l.forced[o] {
		return
	}
	if all := l.attempts[o]; len(all) == 0 || !all[len(all)-1].asked {
		l.fail("L3: %s was released and nobody asked", cc.Name)
	}
}

func (l *laws) withdrawn(cc *v1alpha1.ComputeContract) {
	if cc.Status.Phase != v1alpha1.ComputePending || !cc.Spec.Release && cc.DeletionTimestamp == nil && l.deployment(ownedBy(cc).owner) != nil {
		l.fail("L3: %s was withdrawn: %s, release %t", cc.Name, cc.Status.Phase, cc.Spec.Release)
	}
}

func (l *laws) deleted(cc *v1alpha1.ComputeContract) {
	if !lifecycle.Finished(cc) {
		l.fail("L4: %s was deleted while %s", cc.Name, cc.Status.Phase)
	}
}

func (l *laws) contractGone(cc *v1alpha1.ComputeContract) {
	o := ownedBy(cc)
	if l.forced[o] || o.owner == "" {
		return
	}
	if !lifecycle.Finished(cc) {
		l.fail("L4: %s is gone while %s", cc.Name, cc.Status.Phase)
	}
	d := l.deployment(o.owner)
	if d == nil || l.late[cc.UID] {
		return
	}
	switch r := entryOf(d, o.contract); {
	case r == nil || r.UID != cc.UID:
		l.fail("L5: %s is gone and its deployment doesn't know it", cc.Name)
	case (!r.Superseded || l.attempts[o][len(l.attempts[o])-1].ends) && string(phaseOf(d, o.contract)) != string(cc.Status.Phase):
		l.fail("L5: %s is gone, was %s, and its deployment says %s", cc.Name, cc.Status.Phase, phaseOf(d, o.contract))
	}
}

func (l *laws) endedItself(d *lifecycle.Deployment) {
	if d.Status.EndedAt == nil {
		l.fail("L7: %s was deleted and hasn't ended", d.Name)
	}
	for _, cc := range l.at().contracts {
		if o := ownedBy(cc); o.owner == d.UID && !lifecycle.Finished(cc) && !l.late[cc.UID] && !l.forced[o] {
			l.fail("L8: %s deletes itself and %s is %s", d.Name, cc.Name, cc.Status.Phase)
		}
	}
}
