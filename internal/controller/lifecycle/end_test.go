package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A deployment that is deleted releases its contracts, waits and lets go.
func TestDeletion(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  v1alpha1.ContractState
		entry  string
		last   v1alpha1.ContractPhase
		found  string
		listed string // "-": nobody has listed; else the one that was found
		want   string
	}{
		{"held", requested, "infra-web-front/7", "Deployed", "7:Held", "-", "Deleting; Releasing; !infra-web-front/7; Release"},
		{"waits", requested, "!infra-web-front/7", "Releasing", "7:Releasing,R", "-", "Deleting; Releasing; !infra-web-front/7"},
		{"the outcome is recorded before it is deleted", requested, "!infra-web-front/7", "Releasing", "7:Failed,R", "-", "Deleting; Failed; !infra-web-front/7; Delete"},
		{"gone", requested, "!infra-web-front/7", "Failed", "", "-", "Deleting; Failed; -"},
		{"vanished", requested, "infra-web-front/7", "Deployed", "", "-", "Deleting; Failed; -"},
		{"orphaned", requested, "infra-web-front/7", "Deployed", "7:Held,N", "-", "Deleting; Releasing; !infra-web-front/7; Release"},
		{"orphaned, and waits", requested, "!infra-web-front/7", "Releasing", "7:Releasing,RN", "-", "Deleting; Releasing; !infra-web-front/7"},
		{"staged before, gone", staged, "!infra-web-front/7", "Releasing", "", "-", "Deleting; Released; -"},
		{"never created", requested, "infra-web-front/", "Requesting", "", "-", "Deleting; Released; -"},
		{"nobody has listed", requested, "", "Staged", "", "-", "Deleting; Staged; -"},
		{"nothing is left", requested, "", "Released", "", "", "Deleting; Released; -; LetGo"},
		{"staged only", staged, "", "Staged", "", "", "Deleting; Staged; -; LetGo"},
		{"one without an entry", requested, "", "Deployed", "", "7:Held", "Deleting; Releasing; !infra-web-front/7; Release"},
		{"one that came too late", requested, "", "Released", "", "8:Pending", "Deleting; Released; -; Release?"},
	} {
		d := infra(c.state).withEntry(c.entry).withPhase(c.last)
		d.DeletionTimestamp = at(0)
		o := &Observed{Deployment: d, Now: now, Found: map[string]*v1alpha1.ComputeContract{"front": contract(c.found)}, Listed: c.listed != "-"}
		if cc := contract(c.listed); c.listed != "-" && cc != nil {
			o.Unnamed = []*v1alpha1.ComputeContract{cc}
		}
		if needs := NeedsList(d); needs != (c.entry == "") {
			t.Errorf("%s: NeedsList %t", c.name, needs)
		}
		expect(t, c.name, told(Decide(o)), c.want)
	}
}

// An EphemeralInfra ends at its deadline or when it is complete, once.
func TestEphemeralEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		state   v1alpha1.ContractState
		entry   string
		last    v1alpha1.ContractPhase
		found   string
		expires time.Duration
		endWhen v1alpha1.EndWhen
		ended   bool
		want    string
		reason  v1alpha1.EndReason
	}{
		{"runs", requested, "einfra-web-front/7", "Deployed", "7:Held", time.Second, "", false, "Deployed; Deployed; einfra-web-front/7", ""},
		{"deadline", requested, "einfra-web-front/7", "Deployed", "7:Held", 0, "", false, "Ending; Deployed; einfra-web-front/7; Release", v1alpha1.EndedDeadline},
		{"deadline, nothing was asked for", staged, "", "Staged", "", 0, "", false, "Ending; Released; -; End", v1alpha1.EndedDeadline},
		{"deadline before anything was sent", requested, "", "", "", -time.Hour, "", false, "Ending; Released; -; End", v1alpha1.EndedDeadline},
		{"complete", requested, "einfra-web-front/7", "Deployed", "7:Released", time.Hour, "", false, "Ending; Released; einfra-web-front/7; End", v1alpha1.EndedComplete},
		{"complete by failure", requested, "einfra-web-front/7", "Requesting", "7:Failed", time.Hour, "", false, "Ending; Failed; einfra-web-front/7; End", v1alpha1.EndedComplete},
		{"complete, for its composer released it", released, "", "Staged", "", time.Hour, "", false, "Ending; Released; -; End", v1alpha1.EndedComplete},
		{"not before its deadline", requested, "einfra-web-front/7", "Deployed", "7:Released", time.Hour, v1alpha1.EndDeadline, false, "Released; Released; einfra-web-front/7", ""},
		{"nothing was asked for", staged, "", "", "", time.Hour, "", false, "Staged; Staged; -", ""},
		{"staged again is not complete", requested, "!einfra-web-front/7", "Releasing", "7:Released", time.Hour, "", false, "Releasing; Releasing; !einfra-web-front/7; Delete", ""},
		{"one that was staged again is waited for", staged, "einfra-web-front/7", "Deployed", "7:Held", time.Hour, "", false, "Releasing; Releasing; !einfra-web-front/7; Release", ""},
		{"ending", requested, "einfra-web-front/7", "Releasing", "7:Releasing,R", 0, "", true, "Ending; Releasing; einfra-web-front/7", v1alpha1.EndedDeadline},
		{"ended", requested, "einfra-web-front/7", "Releasing", "7:Released,R", 0, "", true, "Ending; Released; einfra-web-front/7; End", v1alpha1.EndedDeadline},
	} {
		d := infra(c.state).withEntry(c.entry).withPhase(c.last)
		d.Kind, d.Spec.EndWhen, d.Status.ExpiresAt = KindEphemeralInfra, c.endWhen, at(c.expires)
		if c.ended {
			d.Status.EndedAt, d.Status.EndReason = at(-time.Hour), v1alpha1.EndedDeadline
		}
		o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{"front": contract(c.found)}}
		got := Decide(o)
		expect(t, c.name, told(got), c.want)
		if got.Status.EndReason != c.reason || (got.Status.EndedAt != nil) != (c.reason != "") {
			t.Errorf("%s: ended %s, %q", c.name, got.Status.EndedAt, got.Status.EndReason)
		}
		if c.ended && !got.Status.EndedAt.Equal(at(-time.Hour)) {
			t.Errorf("%s: endedAt was rewritten: %s", c.name, got.Status.EndedAt)
		}
		if live := c.reason == ""; live != got.At.Equal(now.Add(c.expires)) {
			t.Errorf("%s: looks again at %s", c.name, got.At)
		}
	}
}

// What had expired when it was first seen is shown, and neither runs nor ends.
func TestExpiredAtFirstSight(t *testing.T) {
	d := infra(requested)
	d.Kind, d.Status.ExpiresAt = KindEphemeralInfra, at(-time.Hour)
	d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionExpiredAtFirstSight, Status: metav1.ConditionTrue}}
	got := Decide(&Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}})
	expect(t, "expired", told(got), "Released; Released; -")
	if got.Status.EndedAt != nil || !got.At.IsZero() {
		t.Errorf("it ends: %+v", got)
	}
	d.DeletionTimestamp = at(0)
	expect(t, "deleted", told(Decide(&Observed{Deployment: d, Now: now, Listed: true})), "Deleting; Staged; -; LetGo")
}
