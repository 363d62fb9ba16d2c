package lifecycle

import (
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	staged    = v1alpha1.ContractStaged
	requested = v1alpha1.ContractRequested
	released  = v1alpha1.ContractReleased
)

var hashed = HashedName(infra(""), "front")

// Every step of one contract. found "?" says that nobody has looked.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name  string
		state v1alpha1.ContractState
		entry string
		last  v1alpha1.ContractPhase
		found string
		want  string
	}{
		{"a staged contract sends nothing", staged, "", "", "?", "Staged; Staged; -"},
		{"requested: the entry comes before what is sent", requested, "", "Staged", "?", "Deploying; Requesting; infra-web-front/"},
		{"requested, and the name is free", requested, "", "Staged", "", "Deploying; Requesting; infra-web-front/; Create?"},
		{"requested, and the name is another's", requested, "", "", "9:Held,X", "Deploying; Requesting; " + hashed + "/"},
		{"requested, and a forgotten one stands there", requested, "", "", "7:Held", "Deployed; Deployed; infra-web-front/7"},
		{"not created yet", requested, "infra-web-front/", "Requesting", "", "Deploying; Requesting; infra-web-front/; Create?"},
		{"the name was taken meanwhile", requested, "infra-web-front/", "Requesting", "9:Held,X", "Deploying; Requesting; " + hashed + "/"},
		{"both names are taken", requested, hashed + "/", "Requesting", "9:Held,X", "Deploying; Requesting; " + hashed + "/"},
		{"created: its uid is noted", requested, "infra-web-front/", "Requesting", "7:Pending", "Deploying; Requesting; infra-web-front/7"},
		{"no phase yet is Pending", requested, "infra-web-front/7", "Requesting", "7:", "Deploying; Requesting; infra-web-front/7"},
		{"taken on", requested, "infra-web-front/7", "Requesting", "7:Requesting", "Deploying; Requesting; infra-web-front/7"},
		{"held", requested, "infra-web-front/7", "Requesting", "7:Held", "Deployed; Deployed; infra-web-front/7"},
		{"given back by the bidder", requested, "infra-web-front/7", "Deployed", "7:Releasing", "Releasing; Releasing; infra-web-front/7"},
		{"finished while requested", requested, "infra-web-front/7", "Deployed", "7:Released", "Released; Released; infra-web-front/7"},
		{"failed", requested, "infra-web-front/7", "Requesting", "7:Failed", "Degraded; Failed; infra-web-front/7"},
		{"terminal is not requested again", requested, "infra-web-front/7", "Released", "?", "Released; Released; infra-web-front/7"},
		{"nor once it is gone", requested, "infra-web-front/7", "Failed", "", "Degraded; Failed; infra-web-front/7"},
		{"nor without an entry", requested, "", "Released", "?", "Released; Released; -"},
		{"vanished", requested, "infra-web-front/7", "Deployed", "", "Degraded; Failed; infra-web-front/7"},
		{"another has its name now", requested, "infra-web-front/7", "Deployed", "8:Held,X", "Degraded; Failed; infra-web-front/7"},
		{"its owner reference was taken away", requested, "infra-web-front/7", "Deployed", "7:Held,N", "Deployed; Deployed; infra-web-front/7"},
		{"it was given to another", requested, "infra-web-front/7", "Deployed", "7:Held,X", "Degraded; Failed; infra-web-front/7"},
		{"nobody's has its name now", requested, "infra-web-front/7", "Deployed", "8:Held,N", "Degraded; Failed; infra-web-front/7"},
		{"another of ours has its name now", requested, "infra-web-front/7", "Deployed", "8:Held", "Degraded; Failed; infra-web-front/7"},

		{"released without having been requested", released, "", "Staged", "?", "Released; Released; -"},
		{"released before it was created", released, "infra-web-front/", "Requesting", "", "Released; Released; -"},
		{"released while the name is another's", released, "infra-web-front/", "Requesting", "8:Held,X", "Released; Released; -"},
		{"released", released, "infra-web-front/7", "Deployed", "7:Held", "Deployed; Deployed; infra-web-front/7; Release?"},
		{"release was told already", released, "infra-web-front/7", "Deployed", "7:Held,R", "Deployed; Deployed; infra-web-front/7"},
		{"releasing", released, "infra-web-front/7", "Deployed", "7:Releasing,R", "Releasing; Releasing; infra-web-front/7"},
		{"came to its release", released, "infra-web-front/7", "Releasing", "7:Released,R", "Released; Released; infra-web-front/7"},
		{"failed before its release", released, "", "Failed", "?", "Degraded; Failed; -"},

		{"staged again while held", staged, "infra-web-front/7", "Deployed", "7:Held", "Releasing; Releasing; !infra-web-front/7; Release"},
		{"staged again, releasing", staged, "!infra-web-front/7", "Releasing", "7:Releasing,R", "Releasing; Releasing; !infra-web-front/7"},
		{"staged again, finished", staged, "!infra-web-front/7", "Releasing", "7:Released,R", "Releasing; Releasing; !infra-web-front/7; Delete"},
		{"staged again, going", staged, "!infra-web-front/7", "Releasing", "7:Released,RD", "Releasing; Releasing; !infra-web-front/7"},
		{"staged again, gone", staged, "!infra-web-front/7", "Releasing", "", "Staged; Staged; -"},
		{"staged again after it failed", staged, "infra-web-front/7", "Failed", "7:Failed", "Releasing; Releasing; !infra-web-front/7; Delete"},
		{"staged again before it was created", staged, "infra-web-front/", "Requesting", "", "Staged; Staged; -"},
		{"requested while the old one ends", requested, "!infra-web-front/7", "Releasing", "7:Held,R", "Releasing; Releasing; !infra-web-front/7"},
		{"requested, and the old one is gone", requested, "!infra-web-front/7", "Releasing", "", "Deploying; Requesting; infra-web-front/"},

		{"dropped while held", "", "infra-web-front/7", "Deployed", "7:Held", "Releasing; Releasing; !infra-web-front/7; Release"},
		{"dropped, finished", "", "!infra-web-front/7", "Releasing", "7:Failed", "Releasing; Releasing; !infra-web-front/7; Delete"},
		{"dropped, gone", "", "!infra-web-front/7", "Releasing", "", "Staged; -; -"},
		{"dropped without having been requested", "", "", "Staged", "?", "Staged; -; -"},
	} {
		d := infra(c.state).withEntry(c.entry).withPhase(c.last)
		o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}}
		if c.found != "?" {
			o.Found = map[string]*v1alpha1.ComputeContract{"front": contract(c.found)}
		}
		expect(t, c.name, told(Decide(o)), c.want)
	}
}

// A second decision on what the first one wrote changes nothing, so that a status is
// written once.
func TestNothingToWriteTwice(t *testing.T) {
	for _, found := range []string{"7:Pending", "7:Held", "7:Failed", "7:Released"} {
		d := infra(requested).withEntry("infra-web-front/7").withPhase("Requesting")
		o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{"front": contract(found)}}
		first := Decide(o)
		if !first.Changed {
			t.Errorf("%s: nothing was written", found)
		}
		d.Status = first.Status
		o.Now = now.Add(1e12)
		if again := Decide(o); again.Changed {
			t.Errorf("%s: written again: %+v, before %+v", found, again.Status, first.Status)
		}
	}
}

// A contract shows what its ComputeContract says, in bounds.
func TestMirror(t *testing.T) {
	cc := contract("7:Held")
	cc.Status.Winner, cc.Status.Receipt = "did:plc:winner", &v1alpha1.ContractReceipt{URI: "at://did:plc:winner/com.example.receipt/1", CID: "bafy"}
	cc.Status.Message = strings.Repeat("é", 600)
	d := infra(requested).withEntry("infra-web-front/7").withPhase("Requesting")
	o := &Observed{Deployment: d, Now: now, Found: map[string]*v1alpha1.ComputeContract{"front": cc}}
	got := Decide(o).Status.Contracts[0]
	want := v1alpha1.ContractStatus{
		Name: "front", Phase: v1alpha1.ContractPhaseDeployed, Winner: "did:plc:winner",
		Receipt: "at://did:plc:winner/com.example.receipt/1", Message: strings.Repeat("é", 512),
	}
	if got != want {
		t.Errorf("got %+v", got)
	}
	// What was known of the winner stays known when it vanishes, and goes with the next attempt.
	d.Status.Contracts[0] = want
	o.Found["front"] = nil
	got = Decide(o).Status.Contracts[0]
	if got.Phase != v1alpha1.ContractPhaseFailed || got.Winner != want.Winner || got.Message != messageVanished {
		t.Errorf("vanished: %+v", got)
	}
	d.Spec.Contracts[0].State = staged
	if got = Decide(o).Status.Contracts[0]; got != (v1alpha1.ContractStatus{Name: "front", Phase: v1alpha1.ContractPhaseStaged}) {
		t.Errorf("staged: %+v", got)
	}
}

// The first that fits.
func TestDeploymentPhase(t *testing.T) {
	for _, c := range []struct {
		mode   mode
		phases string
		want   v1alpha1.DeploymentPhase
	}{
		{modeLive, "", v1alpha1.PhaseStaged},
		{modeLive, "Staged", v1alpha1.PhaseStaged},
		{modeLive, "Staged Released", v1alpha1.PhaseReleased},
		{modeLive, "Staged Released Deployed", v1alpha1.PhaseDeployed},
		{modeLive, "Deployed Releasing Released", v1alpha1.PhaseReleasing},
		{modeLive, "Deployed Releasing Requesting", v1alpha1.PhaseDeploying},
		{modeLive, "Requesting Failed Deployed", v1alpha1.PhaseDegraded},
		{modeEnding, "Failed Deployed", v1alpha1.PhaseEnding},
		{modeDeleting, "Failed Deployed", v1alpha1.PhaseDeleting},
		{modeExpired, "", v1alpha1.PhaseReleased},
		{modeExpired, "Released", v1alpha1.PhaseReleased},
	} {
		var contracts []v1alpha1.ContractStatus
		for _, p := range strings.Fields(c.phases) {
			contracts = append(contracts, v1alpha1.ContractStatus{Phase: v1alpha1.ContractPhase(p)})
		}
		if got := deploymentPhase(c.mode, contracts); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.mode, c.phases, got, c.want)
		}
	}
}
