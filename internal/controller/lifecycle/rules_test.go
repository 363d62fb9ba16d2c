package lifecycle

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func TestNames(t *testing.T) {
	d := infra("")
	if got := ContractName(d, "front"); got != "infra-web-front" {
		t.Error(got)
	}
	d.Kind = KindEphemeralInfra
	if got := ContractName(d, "front"); got != "einfra-web-front" {
		t.Error(got)
	}
	a, b := infra(""), infra("")
	a.Name, b.Name, b.UID = "a-b", "a", "2"
	if ContractName(a, "c") != ContractName(b, "b-c") || HashedName(a, "c") == HashedName(b, "b-c") {
		t.Error("the plain names must meet, the hashed ones must not")
	}
	// A cut in the middle of dots and dashes leaves a name.
	for n := 150; n <= 253; n++ {
		d.Name = strings.Repeat("ab.", n)[:n-1] + "c"
		for _, name := range []string{ContractName(d, "front-1"), HashedName(d, "front-1")} {
			if msgs := content.IsDNS1123Subdomain(name); len(msgs) > 0 {
				t.Errorf("%d: %s: %v", n, name, msgs)
			}
		}
		if msgs := content.IsLabelValue(v1alpha1.LabelValue(d.Name)); len(msgs) > 0 {
			t.Errorf("%d: %v", n, msgs)
		}
	}
	if v1alpha1.LabelValue("web") != "web" || v1alpha1.LabelValue(strings.Repeat("a", 64)) == v1alpha1.LabelValue(strings.Repeat("a", 65)) {
		t.Error("labels")
	}
}

func TestGate(t *testing.T) {
	for _, c := range []struct {
		name       string
		access     v1alpha1.RepoAccess
		execution  v1alpha1.ExecutionPolicy
		granted    bool
		collection *Collection
		want       string
	}{
		{"ours runs", v1alpha1.AccessReadWrite, "", false, nil, ""},
		{"ours runs, explicitly", v1alpha1.AccessReadWrite, v1alpha1.ExecutionFollow, false, nil, ""},
		{"ours is observed", v1alpha1.AccessReadWrite, v1alpha1.ExecutionObserveOnly, false, nil, "ObserveOnly"},
		{"foreign doesn't run", v1alpha1.AccessRead, "", false, nil, "NotWritable"},
		{"nor by a flag of before", v1alpha1.AccessRead, "", true, nil, "NotWritable"},
		{"nor by an ungranted wish", v1alpha1.AccessRead, v1alpha1.ExecutionFollow, false, nil, "NotGranted"},
		{"foreign runs by grant", v1alpha1.AccessRead, v1alpha1.ExecutionFollow, true, nil, ""},
		{"without access nothing runs", v1alpha1.AccessNone, "", false, nil, "NotWritable"},
		{"nor before access is known", "", "", false, nil, "NotWritable"},
		{"a silent collection leaves it to the repo", v1alpha1.AccessRead, v1alpha1.ExecutionFollow, true, &Collection{Name: "c", Repo: "r", Granted: false}, ""},
		{"the collection's word counts", v1alpha1.AccessReadWrite, v1alpha1.ExecutionFollow, true, &Collection{Name: "c", Repo: "r", Execution: v1alpha1.ExecutionObserveOnly}, "ObserveOnly"},
		{"the repo's grant isn't the collection's", v1alpha1.AccessRead, v1alpha1.ExecutionFollow, true, &Collection{Name: "c", Repo: "r", Execution: v1alpha1.ExecutionFollow}, "NotGranted"},
		{"the collection's grant", v1alpha1.AccessRead, v1alpha1.ExecutionObserveOnly, false, &Collection{Name: "c", Repo: "r", Execution: v1alpha1.ExecutionFollow, Granted: true}, ""},
		{"another repository's collection has no word", v1alpha1.AccessRead, "", false, &Collection{Name: "c", Repo: "other", Execution: v1alpha1.ExecutionFollow, Granted: true}, "NotWritable"},
		{"nor against ours", v1alpha1.AccessReadWrite, "", false, &Collection{Name: "c", Repo: "other", Execution: v1alpha1.ExecutionObserveOnly}, ""},
		{"a collection that wasn't seen yet may forbid it", v1alpha1.AccessReadWrite, "", false, &Collection{Name: "c"}, "CollectionMissing"},
	} {
		repo := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		repo.Spec.Execution, repo.Status.Access, repo.Status.ExecuteGranted = c.execution, c.access, c.granted
		d := infra(requested)
		d.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "r"}}
		v := Gate(d, WorkspaceStays, repo, c.collection)
		if v.Reason != c.want || v.Allowed != (c.want == "") || (v.Message == "") != v.Allowed {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	d := infra(requested)
	if v := Gate(d, WorkspaceStays, nil, nil); !v.Allowed {
		t.Errorf("unbound: %+v", v)
	}
	d.Spec.Record = &v1alpha1.RecordBinding{}
	if v := Gate(d, WorkspaceStays, nil, nil); v.Allowed {
		t.Errorf("bound to nothing: %+v", v)
	}
}

// The gate holds what isn't requested yet. What runs goes on.
func TestGateHolds(t *testing.T) {
	shut := Verdict{Reason: "ObserveOnly", Message: "AtprotoRepo r has execution ObserveOnly"}
	d := infra(requested)
	got := Decide(&Observed{Deployment: d, Now: now, Gate: shut})
	expect(t, "held back", told(got), "Staged; Staged; -")
	if m := got.Status.Contracts[0].Message; m != messageWaiting+shut.Message {
		t.Errorf("message %q", m)
	}
	c := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionExecuting)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "ObserveOnly" || !strings.Contains(c.Message, "front") {
		t.Errorf("condition %+v", c)
	}
	d = infra(requested).withEntry("infra-web-front/7").withPhase("Deployed")
	got = Decide(&Observed{Deployment: d, Now: now, Gate: shut, Found: map[string]*v1alpha1.ComputeContract{"front": contract("7:Held")}})
	expect(t, "goes on", told(got), "Deployed; Deployed; infra-web-front/7")
	d = infra(requested).withEntry("infra-web-front/").withPhase("Requesting")
	got = Decide(&Observed{Deployment: d, Now: now, Gate: shut, Found: map[string]*v1alpha1.ComputeContract{"front": nil}})
	expect(t, "begun", told(got), "Deploying; Requesting; infra-web-front/; Create?")
}

func TestConditions(t *testing.T) {
	d := infra(requested).withEntry("infra-web-front/7").withPhase("Deployed")
	d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRecordValid, Status: metav1.ConditionTrue}}
	o := &Observed{Deployment: d, Now: now, Found: map[string]*v1alpha1.ComputeContract{"front": contract("7:Held")}}
	is := func(kind string, want metav1.ConditionStatus, reason string) {
		t.Helper()
		c := meta.FindStatusCondition(Decide(o).Status.Conditions, kind)
		if c == nil || c.Status != want || c.Reason != reason || c.ObservedGeneration != 3 || !c.LastTransitionTime.Equal(at(0)) {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	is(v1alpha1.ConditionReady, metav1.ConditionTrue, "AsAsked")
	is(v1alpha1.ConditionContractsCurrent, metav1.ConditionTrue, "AsRequested")
	is(v1alpha1.ConditionExecuting, metav1.ConditionTrue, "Allowed")
	d.Spec.Contracts[0].UserData = "changed"
	d.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "front", SecretRef: v1alpha1.SecretReference{Name: "s"}}}
	is(v1alpha1.ConditionContractsCurrent, metav1.ConditionFalse, "Changed")
	o.Found["front"] = contract("7:Failed")
	is(v1alpha1.ConditionReady, metav1.ConditionFalse, "Failed")
	if c := meta.FindStatusCondition(Decide(o).Status.Conditions, v1alpha1.ConditionReady); !strings.HasSuffix(c.Message, "; over, stage and request again to have them anew: front") {
		t.Errorf("of what is over: %q", c.Message)
	}
	o.Found["front"] = contract("7:Released")
	is(v1alpha1.ConditionReady, metav1.ConditionFalse, "Over")
	is(v1alpha1.ConditionContractsCurrent, metav1.ConditionTrue, "AsRequested")
	if !meta.IsStatusConditionTrue(Decide(o).Status.Conditions, v1alpha1.ConditionRecordValid) {
		t.Error("the storage's condition is gone")
	}
}

// Views that were built again from their records have no entries.
func TestLostEntries(t *testing.T) {
	for _, c := range []struct {
		state v1alpha1.ContractState
		last  v1alpha1.ContractPhase
		one   string
		want  string
	}{
		{requested, "Deployed", "7:Held", "Deployed; Deployed; infra-web-front/7"},
		{requested, "Deployed", "", "Degraded; Failed; -"},
		{released, "Deployed", "7:Held", "Deployed; Deployed; infra-web-front/7; Release?"},
		{staged, "Deployed", "7:Held", "Releasing; Releasing; !infra-web-front/7; Release"},
		{staged, "Deployed", "", "Staged; Staged; -"},
		{"", "Deployed", "7:Held", "Releasing; Releasing; !infra-web-front/7; Release"},
		{requested, "Released", "8:Pending", "Released; Released; -; Release?"},
		{requested, "Released", "8:Pending,R", "Released; Released; -"},
		{requested, "Released", "8:Released", "Released; Released; -; Delete?"},
		{requested, "Released", "8:Released,D", "Released; Released; -; Forget?"},
	} {
		d := infra(c.state).withPhase(c.last)
		o := &Observed{Deployment: d, Now: now, Listed: true}
		if cc := contract(c.one); cc != nil {
			o.Unnamed = []*v1alpha1.ComputeContract{cc}
		}
		if needs := NeedsList(d); needs != active(c.last) {
			t.Errorf("%s: NeedsList %t", c.last, needs)
		}
		expect(t, string(c.state)+" "+string(c.last)+" "+c.one, told(Decide(o)), c.want)
	}
}

func TestComputeContract(t *testing.T) {
	for _, c := range []struct {
		cc     string
		holder Holder
		want   ContractVerb
	}{
		{"7:Pending", HolderUnaware, Leave},
		{"7:Pending,R", HolderUnaware, Withdraw},
		{"7:,R", HolderNone, Withdraw},
		{"7:Pending,D", HolderUnaware, Withdraw},
		{"7:Pending", HolderGone, Withdraw},
		{"7:Requesting,R", HolderUnaware, Leave},
		{"7:Held", HolderUnaware, Leave},
		{"7:Held,D", HolderUnaware, Return},
		{"7:Held,RD", HolderUnaware, Leave},
		{"7:Held", HolderGone, Return},
		{"7:Released", HolderNone, Leave},
		{"7:Released", HolderKnows, Leave},
		{"7:Released", HolderGone, Remove},
		{"7:Released,D", HolderNone, Free},
		{"7:Failed,D", HolderKnows, Free},
		{"7:Failed,D", HolderGone, Free},
		{"7:Failed,D", HolderUnaware, Leave},
	} {
		if got, at := DecideContract(contract(c.cc), c.holder, now); got != c.want || !at.IsZero() {
			t.Errorf("%s, holder %d: %s, want %s; again %s", c.cc, c.holder, got, c.want, at)
		}
	}
	cc := contract("7:Released")
	cc.Spec.TTLSecondsAfterFinished, cc.Status.FinishedAt = ptr.To[int32](60), at(-59*time.Second)
	if got, when := DecideContract(cc, HolderKnows, now); got != Leave || !when.Equal(now.Add(time.Second)) {
		t.Errorf("before its time: %s, again %s", got, when)
	}
	if got, _ := DecideContract(cc, HolderUnaware, now.Add(time.Second)); got != Remove {
		t.Errorf("at its time: %s", got)
	}
}

// Whether a deployment knows how its ComputeContract ended.
func TestHolder(t *testing.T) {
	cc := contract("7:Released")
	for _, c := range []struct {
		entry    string
		last     v1alpha1.ContractPhase
		deleting bool
		want     Holder
	}{
		{"infra-web-front/7", "Deployed", false, HolderUnaware},
		{"infra-web-front/7", "Released", false, HolderKnows},
		{"infra-web-front/", "Requesting", false, HolderUnaware},
		{"infra-web-front/6", "Released", false, HolderUnaware},
		{"!infra-web-front/7", "Releasing", false, HolderKnows},
		{"!infra-web-front/7", "Releasing", true, HolderUnaware},
		{"!infra-web-front/7", "Released", true, HolderKnows},
		{"", "", false, HolderUnaware},
	} {
		d := infra(requested).withEntry(c.entry).withPhase(c.last)
		if c.deleting {
			d.DeletionTimestamp = at(0)
		}
		if got := HolderOf(d, cc); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if OwnerOf(cc).UID != "1" || !infra("").Owns(cc) || infra("").Owns(contract("7:Held,X")) {
		t.Error("owner")
	}
	cc.OwnerReferences[0].Kind = "Pod"
	if OwnerOf(cc) != nil || HolderUID(cc) != "" {
		t.Error("a Pod is no deployment")
	}
}
