package lifecycle

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Refusal is an act that the API doesn't let be done, and won't until somebody changes
// something. (What only failed is tried again, and nobody is told.)
type Refusal struct {
	// Do is what was refused.
	Do Verb
	// Contract that it was for; "": the deployment itself.
	Contract string
	// Reason is one of those of ContractsAdmitted.
	Reason string
	// Text is what the API says.
	Text string
}

// retell is how long what was said of a refusal stays, though the API says something
// else by now: words that differ each time would else make a status write of each try,
// and a try of each write.
const retell = 30 * time.Second

// messageNames is what is said where names are taken.
const messageNames = "the names for its ComputeContract belong to other objects; rename it, or delete them"

// refused is how the message begins that tells of a refusal. By it the next decision
// knows what was refused.
func (v Verb) refused() string {
	what := map[Verb]string{
		Create: "creation", Release: "release", Delete: "deletion", Forget: "removal of the finalizer",
		LetGo: "end of the deployment's finalizer", End: "deletion of the deployment", Hold: "the deployment's finalizer",
	}
	return what[v] + " refused: "
}

// Refuse says in the status of a deployment what was refused; it says one thing, for as
// many contracts as it is true of. changed is false where the status says so already.
func Refuse(d *Deployment, refusals []Refusal, now time.Time) (status v1alpha1.EphemeralInfraStatus, changed bool) {
	status = d.Status
	if len(refusals) == 0 {
		return status, false
	}
	first := refusals[0]
	var names []string
	for _, r := range refusals {
		if r.Do == first.Do && r.Reason == first.Reason && r.Contract != "" && !slices.Contains(names, r.Contract) {
			names = append(names, r.Contract)
		}
	}
	ours := first.Do.refused()
	if len(names) > 0 {
		ours += some(names) + ": "
	}
	next := condition(v1alpha1.ConditionContractsAdmitted, false, first.Reason, bounded(ours+d.hideSecrets(first.Text)), d.Generation, now)
	if last := meta.FindStatusCondition(status.Conditions, next.Type); last != nil && last.ObservedGeneration == next.ObservedGeneration {
		same := last.Reason == next.Reason && strings.HasPrefix(last.Message, ours) && shape(last.Message) == shape(next.Message)
		if same || now.Before(last.LastTransitionTime.Add(retell)) {
			return status, false
		}
	}
	// Another refusal than before counts as a transition: its time bounds the next.
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool { return c.Type == next.Type })
	status.Conditions = append(status.Conditions, next)
	return status, true
}

// admittedCondition keeps what is said of a refusal while the like of it is still to be
// done, which tells anew. Names that are taken are known without asking.
func (o *Observed) admittedCondition(conditions *[]metav1.Condition, set func(kind string, is bool, reason, message string), results []result, next *Decision) {
	const kind = v1alpha1.ConditionContractsAdmitted
	taken := namesOf(results, func(r result) bool { return r.taken })
	switch c := meta.FindStatusCondition(*conditions, kind); {
	case c != nil && next.asks(c.Message):
	case taken != "":
		set(kind, false, v1alpha1.ReasonNameTaken, Create.refused()+taken+": "+messageNames)
	default:
		meta.RemoveStatusCondition(conditions, kind)
	}
}

// asks tells whether a decision does what a message says was refused.
func (d *Decision) asks(message string) bool {
	return d.Hold && strings.HasPrefix(message, Hold.refused()) ||
		slices.ContainsFunc(d.Actions, func(a Action) bool { return strings.HasPrefix(message, a.Do.refused()) })
}

var (
	// figures are the words that differ from one refusal to the next: amounts, times, ids.
	figures = regexp.MustCompile(`\w*\d\w*`)
	// values are those of fields, as errors of validation quote them.
	values = regexp.MustCompile(`(?s)value: ("(?:\\.|[^"\\])*"|\{.*\}|\[.*\]|map\[.*\])`)
	// words are what the name of a Secret may be in a text.
	words = regexp.MustCompile(`[\w.-]*\w`)
)

// shape of a text, without its figures.
func shape(text string) string { return figures.ReplaceAllString(text, "0") }

// hidden stands for what isn't told.
const hidden = "(hidden)"

// hideSecrets takes out of what an API says the names of the deployment's Secrets, and
// the values of fields.
func (d *Deployment) hideSecrets(text string) string {
	text = values.ReplaceAllString(text, "value: "+hidden)
	return words.ReplaceAllStringFunc(text, func(word string) string {
		for i := range d.Spec.Secrets {
			if ref := d.Spec.Secrets[i].SecretRef; word == ref.Name || word == ref.Namespace {
				return hidden
			}
		}
		return word
	})
}

// Hide is err without the names of the deployment's Secrets and the values of fields: what
// an API says of a ComputeContract may repeat what was sent.
func (d *Deployment) Hide(err error) error { return &hiding{err, d.hideSecrets(err.Error())} }

// hiding is an error with another text.
type hiding struct {
	err  error
	text string
}

func (h *hiding) Error() string { return h.text }

// Unwrap is the error itself.
func (h *hiding) Unwrap() error { return h.err }
