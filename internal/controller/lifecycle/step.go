package lifecycle

import (
	"strings"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Messages of contracts. They are published.
const (
	messageVanished = "its ComputeContract vanished before it was Released or Failed; stage the contract to be able to request it again"
	messageTaken    = "the names for its ComputeContract belong to other objects"
	messageWaiting  = "requested, and not executed: "
	messageFull     = "requested once ComputeContracts of contracts that were dropped are gone: there are too many"
)

// maxMessage bounds what a contract's status says in words, in bytes.
const maxMessage = 1024

// step is one contract of a deployment, and what is known of it.
type step struct {
	*Observed
	mode  mode
	want  want
	name  string
	entry *v1alpha1.ContractRequest
	last  *v1alpha1.ContractStatus
	// found stands at the entry's name, or the name that it would have; known says
	// that somebody has looked.
	found *v1alpha1.ComputeContract
	known bool
	// room says that another attempt may begin.
	room bool
}

// result is what becomes of a contract.
type result struct {
	name   string
	entry  *v1alpha1.ContractRequest // nil: none
	status *v1alpha1.ContractStatus  // nil: none is shown
	acts   []Action
	// stale: the ComputeContract was made of another declaration.
	stale bool
	// blocked: it is requested and may not be executed.
	blocked bool
	// taken: the names for its ComputeContract belong to others.
	taken bool
	// again: nothing will tell when it can go on.
	again bool
}

// decide finds the phase of the lifecycle that the contract is in.
func (s step) decide() result {
	if s.entry == nil {
		return s.unrequested()
	}
	entry := *s.entry
	entry.Superseded = entry.Superseded || s.want == wantStaged || s.want == wantDropped
	s.entry = &entry
	switch cc := s.found; {
	case !s.known: // its outcome is recorded
		return s.keep()
	case cc != nil && s.Deployment.Owns(cc) && (entry.UID == "" || entry.UID == cc.UID):
		entry.UID = cc.UID
		return s.standing(cc)
	case cc != nil && entry.UID == cc.UID && OwnerOf(cc) == nil:
		// Its owner reference was taken away: a garbage collector does so where the
		// deployment is deleted with orphans. What it holds has to be given back all the
		// same, and nothing tells surely of its changes any more.
		r := s.standing(cc)
		r.again = true
		return r
	case entry.UID != "":
		return s.gone()
	}
	return s.uncreated()
}

// unrequested has no entry: nothing stands for the contract.
func (s step) unrequested() result {
	last := s.phase()
	switch {
	case active(last) && !s.Listed:
		return s.keep() // unknown: NeedsList wasn't followed
	case active(last) && (s.want == wantRequested || s.want == wantReleased || s.mode == modeDeleting):
		return s.show(v1alpha1.ContractPhaseFailed, messageVanished)
	case s.want == wantDropped && s.mode != modeDeleting:
		return result{name: s.name}
	case s.want == wantStaged:
		return s.show(v1alpha1.ContractPhaseStaged, "")
	case terminal(last):
		return s.keep()
	case s.want == wantReleased:
		return s.show(v1alpha1.ContractPhaseReleased, "")
	case s.want == wantDropped:
		return s.show(v1alpha1.ContractPhaseStaged, "")
	case !s.Gate.Allowed:
		r := s.show(v1alpha1.ContractPhaseStaged, messageWaiting+s.Gate.Message)
		r.blocked = true
		return r
	case !s.room:
		return s.show(v1alpha1.ContractPhaseStaged, messageFull)
	}
	return s.request()
}

// request begins an attempt: its entry is written before anything is sent.
func (s step) request() result {
	s.entry = &v1alpha1.ContractRequest{Contract: s.name, ComputeContract: ContractName(s.Deployment, s.name)}
	switch cc := s.found; {
	case !s.known: // to be looked at before it is created
		return s.show(v1alpha1.ContractPhaseRequesting, "")
	case cc != nil && s.Deployment.Owns(cc):
		s.entry.UID = cc.UID
		return s.standing(cc)
	}
	return s.uncreated()
}

// uncreated has an entry and no ComputeContract: what may be found is another's.
func (s step) uncreated() result {
	if s.want == wantReleased || s.entry.Superseded {
		return s.over(v1alpha1.ContractPhaseReleased)
	}
	if hashed := HashedName(s.Deployment, s.name); s.found != nil {
		if s.entry.ComputeContract == hashed {
			r := s.show(v1alpha1.ContractPhaseRequesting, messageTaken)
			r.taken, r.again = true, true
			return r
		}
		s.entry.ComputeContract = hashed
		return s.show(v1alpha1.ContractPhaseRequesting, "")
	}
	r := s.show(v1alpha1.ContractPhaseRequesting, "")
	r.acts = []Action{{
		Do: Create, Contract: s.name, Name: s.entry.ComputeContract, Confirm: true,
		Spec: contractSpec(s.Deployment, s.Deployment.contract(s.name)),
	}}
	return r
}

// standing has a ComputeContract.
func (s step) standing(cc *v1alpha1.ComputeContract) result {
	if s.entry.Superseded {
		return s.leaving(cc)
	}
	r := s.mirror(cc, contractPhases[cc.Status.Phase])
	if Finished(cc) {
		return r
	}
	c := s.Deployment.contract(s.name)
	r.stale = c != nil && !current(s.Deployment, c, cc)
	if s.want == wantReleased && !cc.Spec.Release {
		// What the state says may have changed since it was read. An end doesn't.
		r.acts = []Action{{Do: Release, Contract: s.name, Name: cc.Name, UID: cc.UID, Confirm: s.mode == modeLive}}
	}
	return r
}

// leaving has a ComputeContract that the contract no longer stands behind: it is
// released, then deleted.
func (s step) leaving(cc *v1alpha1.ComputeContract) result {
	phase := v1alpha1.ContractPhaseReleasing
	if Finished(cc) && s.mode == modeDeleting {
		phase = contractPhases[cc.Status.Phase]
	}
	r := s.mirror(cc, phase)
	if s.mode == modeDeleting && terminal(s.phase()) {
		r = s.keep() // recorded: what is seen may be older
	}
	switch {
	case Finished(cc) && cc.DeletionTimestamp == nil:
		r.acts = []Action{{Do: Delete, Contract: s.name, Name: cc.Name, UID: cc.UID}}
	case !Finished(cc) && !cc.Spec.Release:
		r.acts = []Action{{Do: Release, Contract: s.name, Name: cc.Name, UID: cc.UID}}
	}
	return r
}

// gone had a ComputeContract, which isn't there any more.
func (s step) gone() result {
	switch {
	case !s.entry.Superseded && terminal(s.phase()):
		return s.keep()
	case !s.entry.Superseded:
		return s.show(v1alpha1.ContractPhaseFailed, messageVanished)
	case s.mode != modeDeleting || terminal(s.phase()):
		return s.over(s.phase())
	case s.phase() != v1alpha1.ContractPhaseReleasing:
		// It was at work, and nothing says how it ended.
		s.entry = nil
		return s.show(v1alpha1.ContractPhaseFailed, messageVanished)
	}
	return s.over(v1alpha1.ContractPhaseReleased)
}

// over ends an attempt: the entry goes, and the contract is as if it had never been
// requested. Where its state doesn't count any more, it stays what it was at last.
func (s step) over(at v1alpha1.ContractPhase) result {
	s.entry = nil
	if s.mode == modeDeleting {
		return s.show(at, "")
	}
	s.last, s.found, s.known = nil, nil, false
	return s.unrequested()
}

func (s step) phase() v1alpha1.ContractPhase {
	if s.last == nil {
		return ""
	}
	return s.last.Phase
}

// keep leaves the status as it is.
func (s step) keep() result {
	return result{name: s.name, entry: s.entry, status: s.last}
}

// show a phase. What else is known of the attempt stays known while it lasts.
func (s step) show(p v1alpha1.ContractPhase, message string) result {
	next := &v1alpha1.ContractStatus{Name: s.name, Phase: p, Message: bounded(message)}
	if s.last != nil && (terminal(p) || active(p)) && s.phase() != v1alpha1.ContractPhaseStaged {
		next.Winner, next.Receipt = s.last.Winner, s.last.Receipt
		if message == "" && terminal(p) {
			next.Message = s.last.Message
		}
	}
	return result{name: s.name, entry: s.entry, status: next}
}

// mirror shows a phase with what the ComputeContract says.
func (s step) mirror(cc *v1alpha1.ComputeContract, p v1alpha1.ContractPhase) result {
	next := &v1alpha1.ContractStatus{Name: s.name, Phase: p, Winner: cc.Status.Winner, Message: bounded(cc.Status.Message)}
	if cc.Status.Receipt != nil {
		next.Receipt = cc.Status.Receipt.URI
	}
	return result{name: s.name, entry: s.entry, status: next}
}

// bounded cuts a message that a status would not take.
func bounded(message string) string {
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return strings.ToValidUTF8(message, "")
}
