package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// maxRounds is far more than it takes: a contract that is dropped, released and
// requested anew takes about fifteen.
const maxRounds = 100

// converge ends all faults, and comes to rest.
func (m *model) converge() {
	m.putRepo(func(r *v1alpha1.AtprotoRepo) { r.Status.Access = v1alpha1.AccessReadWrite })
	m.note("the faults stop")
	m.controllers[0].sees = lifecycle.WorkspaceBound
	m.full = true
	m.rest() // though it is tried in every round
	m.now = m.now.Add(time.Minute)
	m.rest()
	for k, d := range m.at().deployments {
		var waiting []string
		for _, r := range d.Status.Requests {
			if r.UID == "" && !r.Superseded {
				waiting = append(waiting, r.Contract)
			}
		}
		c := refused(d)
		if (c != nil) != (len(waiting) > 0) || c != nil && (c.Reason != v1alpha1.ReasonQuotaExceeded || c.ObservedGeneration != d.Generation ||
			!strings.HasPrefix(c.Message, "creation refused: "+strings.Join(waiting, ", ")+": ")) {
			m.laws.fail("%s: the creation for %q is refused, and it says %+v", k, waiting, c)
		}
	}
	m.note("there is room")
	m.full = false
	m.rest()
}

// rest lets one controller and the fulfiller go on until nothing changes.
func (m *model) rest() {
	for range maxRounds {
		before := len(m.versions)
		m.round()
		if len(m.versions) == before {
			return
		}
	}
	m.laws.fail("it doesn't come to rest")
}

// goes lets the workspace go: that is all that changes. Perhaps it comes back.
func (m *model) goes() {
	runs := func() (out []string) {
		for _, name := range m.at().names() {
			cc := m.at().contracts[name]
			out = append(out, fmt.Sprint(name, cc.UID, cc.Status.Phase, cc.Spec.Release))
		}
		return out
	}
	before := runs()
	for _, sees := range []lifecycle.Workspace{lifecycle.WorkspaceGone, lifecycle.WorkspaceUnknown, lifecycle.WorkspaceBound, lifecycle.WorkspaceGone} {
		m.note("workspace %d", sees)
		m.controllers[0].sees = sees
		m.rest()
		if after := runs(); !slices.Equal(before, after) {
			m.laws.fail("workspace %d: %q, were %q", sees, after, before)
		}
		for k, d := range m.at().deployments {
			if gone := meta.IsStatusConditionFalse(d.Status.Conditions, v1alpha1.ConditionWorkspaceBound); gone != (sees != lifecycle.WorkspaceBound) {
				m.laws.fail("%s: workspace %d, and it says gone: %t", k, sees, gone)
			}
		}
	}
}

// round is a calm time: one controller looks at everything once, and the fulfiller
// takes each ComputeContract on by one phase.
func (m *model) round() {
	c := m.controllers[0]
	c.cache.catchUp()
	for _, k := range c.cache.keys() {
		r := m.begin(c, k)
		for m.advance("controller 0", r, works) {
		}
		c.cache.catchUp()
	}
	for _, name := range m.at().names() {
		if cc := m.at().contracts[name]; cc != nil && lifecycle.OwnerOf(cc) != nil && !lifecycle.Finished(cc) {
			m.fulfil(cc)
		}
	}
}

// settled checks that every deployment is what it asks for.
func (m *model) settled() {
	for k, d := range m.at().deployments {
		if c := refused(d); c != nil {
			m.laws.fail("%s: nothing is refused any more, and it says %+v", k, c)
		}
		if d.DeletionTimestamp != nil || d.Status.EndedAt != nil {
			m.laws.fail("%s is still there: deleted %s, ended %s", k, d.DeletionTimestamp, d.Status.EndedAt)
		}
		for _, c := range d.Spec.Contracts {
			if p := phaseOf(d, c.Name); !comeTo(c.State, p) {
				m.laws.fail("%s: %s is %s and %s", k, c.Name, c.State, p)
			}
		}
		if len(d.Status.Contracts) != len(d.Spec.Contracts) {
			m.laws.fail("%s: declares %v, shows %v", k, d.Spec.Contracts, d.Status.Contracts)
		}
		for _, r := range d.Status.Requests {
			if r.Superseded || r.UID == "" || stateOf(d, r.Contract) == "" {
				m.laws.fail("%s: an entry is left: %+v", k, r)
			}
		}
	}
	for _, cc := range m.at().contracts {
		o := ownedBy(cc)
		if o.owner == "" {
			continue
		}
		d := m.deployment(o.owner)
		if d == nil {
			m.laws.fail("%s is left, %s, and its deployment is gone", cc.Name, cc.Status.Phase)
			continue
		}
		if r := entryOf(d, o.contract); r == nil || r.UID != cc.UID {
			m.laws.fail("%s is left, %s, and its deployment has %+v", cc.Name, cc.Status.Phase, r)
		}
	}
}

func comeTo(s v1alpha1.ContractState, p v1alpha1.ContractPhase) bool {
	switch s {
	case v1alpha1.ContractStaged:
		return p == v1alpha1.ContractPhaseStaged
	case v1alpha1.ContractRequested:
		return over(p) || p == v1alpha1.ContractPhaseDeployed
	case v1alpha1.ContractReleased:
		return over(p)
	}
	panic(fmt.Sprintf("state %q", s))
}
