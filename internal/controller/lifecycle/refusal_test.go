package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func (d *Deployment) admitted() *metav1.Condition {
	return meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionContractsAdmitted)
}

// refuse tells whether the status has to be written to say that contracts are refused.
func (d *Deployment) refuse(do Verb, reason, text string, after time.Duration, contracts ...string) bool {
	var all []Refusal
	for _, c := range contracts {
		all = append(all, Refusal{Do: do, Contract: c, Reason: reason, Text: text})
	}
	status, changed := Refuse(d, all, now.Add(after))
	d.Status = status
	return changed
}

func quota(used int) string {
	return fmt.Sprintf(`computecontracts.socialweb.computer "infra-web-front" is forbidden: exceeded quota: workspace one, requested: bytes=%d, used: bytes=%d`, used%7, used)
}

// A refusal is said once, whatever figures are in it; another one not more often than it
// may change.
func TestRefusalIsSaidOnce(t *testing.T) {
	d := infra(requested)
	before := d.Status.Conditions
	for _, step := range []struct {
		what   string
		after  time.Duration
		change func()
		reason string
		text   string
		names  []string
		want   bool
	}{
		{"the first", 0, nil, v1alpha1.ReasonQuotaExceeded, quota(99), []string{"front"}, true},
		{"other figures", time.Hour, nil, v1alpha1.ReasonQuotaExceeded, quota(1000), []string{"front"}, false},
		{"other words, at once after a change", time.Hour, nil, v1alpha1.ReasonQuotaExceeded, "other words", []string{"front"}, true},
		{"again others, soon", time.Hour + time.Second, nil, v1alpha1.ReasonDenied, "no", []string{"front"}, false},
		{"others of another generation", time.Hour + time.Second, func() { d.Generation++ }, v1alpha1.ReasonDenied, "no", []string{"front"}, true},
		{"one more contract, later", time.Hour + time.Minute, nil, v1alpha1.ReasonDenied, "no", []string{"front", "back"}, true},
		{"another contract with a figure", 2 * time.Hour, nil, v1alpha1.ReasonDenied, "no", []string{"c1"}, true},
		{"and one that differs by it", 3 * time.Hour, nil, v1alpha1.ReasonDenied, "no", []string{"c2"}, true},
		{"none", 4 * time.Hour, nil, "", "", nil, false},
	} {
		if step.change != nil {
			step.change()
		}
		if got := d.refuse(Create, step.reason, step.text, step.after, step.names...); got != step.want {
			t.Errorf("%s: written %t", step.what, got)
		}
		taken(t, step.what, d, d.Status)
		c := d.admitted()
		if step.want && (c.Status != metav1.ConditionFalse || c.Reason != step.reason || c.ObservedGeneration != d.Generation ||
			c.Message != "creation refused: "+strings.Join(step.names, ", ")+": "+step.text || !c.LastTransitionTime.Equal(at(step.after))) {
			t.Errorf("%s: %+v", step.what, c)
		}
	}
	if len(before) != 0 || len(d.Status.Conditions) != 1 {
		t.Errorf("%+v", d.Status.Conditions)
	}
}

// What is refused alike is said together, in bounds.
func TestRefusalsOfManyContracts(t *testing.T) {
	d := infra(requested)
	all := []Refusal{{Do: Release, Contract: "r", Reason: v1alpha1.ReasonDenied, Text: "no"}}
	for i := range 9 {
		all = append(all, Refusal{Do: Create, Contract: fmt.Sprintf("c%d", i), Reason: v1alpha1.ReasonForbidden, Text: strings.Repeat("é", maxMessage)})
	}
	all = append(all, all[1])
	for what, c := range map[string]struct {
		refusals []Refusal
		want     string
	}{
		"of several the first":     {all, "release refused: r: no"},
		"those that are alike":     {all[1:], "creation refused: c0, c1, c2, c3, c4, and 4 more: éé"},
		"the deployment's own":     {[]Refusal{{Do: Hold, Reason: v1alpha1.ReasonForbidden, Text: "no"}}, "the deployment's finalizer refused: no"},
		"the end, which is no end": {[]Refusal{{Do: End, Reason: v1alpha1.ReasonDenied, Text: "no"}}, "deletion of the deployment refused: no"},
	} {
		status, changed := Refuse(d, c.refusals, now)
		got := *d
		got.Status = status
		if m := got.admitted().Message; !changed || !strings.HasPrefix(m, c.want) || len(m) > maxMessage {
			t.Errorf("%s: %q", what, m)
		}
		taken(t, what, d, status)
	}
}

// What is said lasts as long as the like of it is to be done.
func TestRefusalLasts(t *testing.T) {
	refusedOne := func(state v1alpha1.ContractState, entry string) *Deployment {
		d := infra(state).withEntry(entry).withPhase(v1alpha1.ContractPhaseRequesting)
		d.refuse(Create, v1alpha1.ReasonDenied, "no", 0, "front")
		return d
	}
	unheld := infra(requested)
	unheld.Finalizers = nil
	unheld.refuse(Hold, v1alpha1.ReasonForbidden, "no", 0, "")
	both := refusedOne(requested, "infra-web-front/")
	both.Spec.Contracts = append(both.Spec.Contracts, v1alpha1.Contract{Name: "back", State: requested})
	both.Status.Requests = append(both.Status.Requests, v1alpha1.ContractRequest{Contract: "back", ComputeContract: HashedName(both, "back")})
	hashed := infra(requested).withPhase(v1alpha1.ContractPhaseRequesting)
	hashed.withEntry(HashedName(hashed, "front") + "/")
	others := contract("8:Held,X")
	for _, c := range []struct {
		what  string
		d     *Deployment
		found map[string]*v1alpha1.ComputeContract
		want  string
	}{
		{"not created yet", refusedOne(requested, "infra-web-front/"), nil, v1alpha1.ReasonDenied},
		{"created", refusedOne(requested, "infra-web-front/"), map[string]*v1alpha1.ComputeContract{"front": contract("7:Pending")}, ""},
		{"not wanted any more", refusedOne(staged, "infra-web-front/"), nil, ""},
		{"without its finalizer", unheld, nil, v1alpha1.ReasonForbidden},
		{"the name is another's", hashed, map[string]*v1alpha1.ComputeContract{"front": others}, v1alpha1.ReasonNameTaken},
		{"so, beside one that is refused", both, map[string]*v1alpha1.ComputeContract{"back": others}, v1alpha1.ReasonDenied},
		{"and that alone", both, map[string]*v1alpha1.ComputeContract{"front": contract("7:Pending"), "back": others}, v1alpha1.ReasonNameTaken},
	} {
		o := &Observed{Deployment: c.d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{}}
		for _, q := range Questions(c.d, o.Gate) {
			o.Found[q.Contract] = c.found[q.Contract]
		}
		next := *c.d
		next.Status = Decide(o).Status
		taken(t, c.what, c.d, next.Status)
		got := next.admitted()
		if (got == nil) != (c.want == "") || got != nil && got.Reason != c.want {
			t.Errorf("%s: %+v", c.what, got)
		}
		if got != nil && c.want == v1alpha1.ReasonNameTaken && !strings.Contains(got.Message, "refused: ") {
			t.Errorf("%s: %q", c.what, got.Message)
		}
	}
}

// Nobody reads of a Secret in a condition, nor what a field has.
func TestRefusalTellsNoSecret(t *testing.T) {
	d := infra(requested)
	d.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "front", SecretRef: v1alpha1.SecretReference{Name: "front-tls", Namespace: "vault"}}}
	for text, want := range map[string]string{
		`secret vault/front-tls is missing`:                          `secret (hidden)/(hidden) is missing`,
		`"front-tls". (front-tls)`:                                   `"(hidden)". ((hidden))`,
		`infra-web-front-tls of vaults`:                              `infra-web-front-tls of vaults`,
		`spec.userData: Invalid value: "a \"b\" c": too long`:        `spec.userData: Invalid value: (hidden): too long`,
		"spec.userData: Invalid value: \"a\nb\": no":                 `spec.userData: Invalid value: (hidden): no`,
		`spec.secretsRef: Invalid value: {"name":"x"}: no`:           `spec.secretsRef: Invalid value: (hidden): no`,
		`spec.policy: Unsupported value: "x": supported values: "y"`: `spec.policy: Unsupported value: (hidden): supported values: "y"`,
	} {
		if got := d.hideSecrets(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
