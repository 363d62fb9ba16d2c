package kubectlinfra

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// goal is what `wait` waits for.
type goal struct {
	deleted bool
	// contract whose phase it is; "": the deployment's.
	contract string
	phase    string
}

var (
	deploymentPhases = []string{
		string(v1alpha1.PhaseStaged), string(v1alpha1.PhaseDeploying), string(v1alpha1.PhaseDeployed), string(v1alpha1.PhaseReleasing),
		string(v1alpha1.PhaseReleased), string(v1alpha1.PhaseDegraded), string(v1alpha1.PhaseEnding), string(v1alpha1.PhaseDeleting),
	}
	contractPhases = []string{
		string(v1alpha1.ContractPhaseStaged), string(v1alpha1.ContractPhaseRequesting), string(v1alpha1.ContractPhaseDeployed),
		string(v1alpha1.ContractPhaseReleasing), string(v1alpha1.ContractPhaseReleased), string(v1alpha1.ContractPhaseFailed),
	}
)

func parseGoals(wanted []string) ([]goal, error) {
	if len(wanted) == 0 {
		return nil, errors.New("--for says what to wait for: phase=PHASE, contract/CONTRACT=PHASE or delete")
	}
	goals := make([]goal, len(wanted))
	for i, w := range wanted {
		var err error
		if goals[i], err = parseGoal(w); err != nil {
			return nil, err
		}
	}
	return goals, nil
}

func parseGoal(wanted string) (goal, error) {
	if strings.EqualFold(wanted, "delete") {
		return goal{deleted: true}, nil
	}
	what, phase, found := strings.Cut(wanted, "=")
	contract, ofContract := strings.CutPrefix(what, "contract/")
	phases := deploymentPhases
	if ofContract {
		phases = contractPhases
	}
	if !found || (what != "phase" && contract == "") || (what != "phase" && !ofContract) {
		return goal{}, fmt.Errorf("unrecognized condition: %q: it is phase=PHASE, contract/CONTRACT=PHASE or delete", wanted)
	}
	at := slices.IndexFunc(phases, func(p string) bool { return strings.EqualFold(p, phase) })
	if at < 0 {
		return goal{}, fmt.Errorf("unrecognized condition: %q: the phases are %s", wanted, strings.Join(phases, ", "))
	}
	g := goal{phase: phases[at]}
	if ofContract {
		g.contract = contract
	}
	return g, nil
}

// check refuses a goal that could be reached by a change of the declaration alone.
func (g goal) check(d *deployment) error {
	if g.contract == "" || slices.Contains(d.declared(), g.contract) || d.phaseOf(g.contract) != "" {
		return nil
	}
	return noSuchContract(d, fmt.Sprintf("%q", g.contract))
}

// reached tells whether the object shows it. What was observed of an older generation
// says nothing of this one.
func (g goal) reached(d *deployment) bool {
	if g.deleted || d.status.ObservedGeneration != 0 && d.status.ObservedGeneration < d.meta.Generation {
		return false
	}
	if g.contract != "" {
		return string(d.phaseOf(g.contract)) == g.phase
	}
	return string(d.status.Phase) == g.phase
}
