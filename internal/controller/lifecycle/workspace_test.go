package lifecycle

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// told of the workspace: "" nothing, or the condition's status and reason.
func workspaceTold(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionWorkspaceBound); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// contractTold is what a ComputeContract that said something before says then, and
// whether it has to be written for it: once, and with what others say of it.
func contractTold(before []metav1.Condition, sees Workspace) (told string, written bool) {
	cc := contract("7:Held")
	cc.Status.Conditions = append(slices.Clone(before), metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Other"})
	got, written := ContractConditions(cc, sees, now)
	told = workspaceTold(got)
	if !meta.IsStatusConditionTrue(got, "Other") {
		told += ", without another's"
	}
	cc.Status.Conditions = got
	if _, again := ContractConditions(cc, sees, now.Add(time.Hour)); again {
		told += ", again and again"
	}
	return told, written
}

// A workspace that is gone is told once, keeps the gate shut also while nobody knows any
// more, and is back when it is seen.
func TestWorkspaceGoesAndComes(t *testing.T) {
	for _, c := range []struct {
		name   string
		before metav1.ConditionStatus
		sees   Workspace
		want   string
		runs   bool
	}{
		{"no kcp", "", WorkspaceStays, "", true},
		{"not known yet", "", WorkspaceUnknown, "", true},
		{"there", "", WorkspaceBound, "", true},
		{"goes", "", WorkspaceGone, "False WorkspaceGone", false},
		{"gone, and not known", metav1.ConditionFalse, WorkspaceUnknown, "False WorkspaceGone", false},
		{"still gone", metav1.ConditionFalse, WorkspaceGone, "False WorkspaceGone", false},
		{"comes back", metav1.ConditionFalse, WorkspaceBound, "True Bound", true},
		{"is back, and not known", metav1.ConditionTrue, WorkspaceUnknown, "True Bound", true},
		{"goes again", metav1.ConditionTrue, WorkspaceGone, "False WorkspaceGone", false},
		{"the kcp was taken away", metav1.ConditionFalse, WorkspaceStays, "", true},
	} {
		d := infra(requested)
		if c.before != "" {
			reason := map[metav1.ConditionStatus]string{metav1.ConditionTrue: v1alpha1.ReasonWorkspaceBound, metav1.ConditionFalse: v1alpha1.ReasonWorkspaceGone}[c.before]
			message := map[metav1.ConditionStatus]string{metav1.ConditionFalse: messageGone + ": it is kept until somebody releases the workspace"}[c.before]
			d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkspaceBound, Status: c.before, Reason: reason, Message: message}}
		}
		was := workspaceTold(d.Status.Conditions)
		if told, written := contractTold(d.Status.Conditions, c.sees); told != c.want || written != (told != was) {
			t.Errorf("%s: a ComputeContract is told %q, written %t", c.name, told, written)
		}
		gate := Gate(d, c.sees, nil, nil)
		if gate.Allowed != c.runs {
			t.Errorf("%s: %+v", c.name, gate)
		}
		got := Decide(&Observed{Deployment: d, Now: now, Gate: gate, Workspace: c.sees, Found: map[string]*v1alpha1.ComputeContract{"front": nil}})
		if told := workspaceTold(got.Status.Conditions); told != c.want {
			t.Errorf("%s: told %q", c.name, told)
		}
		executing := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionExecuting)
		if blocked := executing != nil && executing.Reason == v1alpha1.ReasonWorkspaceGone; blocked == c.runs {
			t.Errorf("%s: executing %+v", c.name, executing)
		}
		if requests := len(got.Status.Requests) > 0; requests != c.runs {
			t.Errorf("%s: requested %t", c.name, requests)
		}
	}
}

// What is held in a workspace that is gone runs on, and the end of an EphemeralInfra
// comes as ever.
func TestHeldRunsOnInAWorkspaceThatIsGone(t *testing.T) {
	d := infra(requested).withEntry("infra-web-front/7").withPhase("Deployed")
	o := &Observed{Deployment: d, Now: now, Workspace: WorkspaceGone, Found: map[string]*v1alpha1.ComputeContract{"front": contract("7:Held")}}
	o.Gate = Gate(d, o.Workspace, nil, nil)
	expect(t, "held", told(Decide(o)), "Deployed; Deployed; infra-web-front/7")
	d.Kind, d.Status.ExpiresAt = KindEphemeralInfra, at(0)
	expect(t, "its deadline", told(Decide(o)), "Ending; Deployed; infra-web-front/7; Release")
}
