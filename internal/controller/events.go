package controller

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// actionReconcile is what the controller was doing when an event came about.
const actionReconcile = "Reconcile"

// teller tells what a status write has changed.
type teller func(ctx context.Context, k Key, was, is *lifecycle.Deployment)

// newTeller writes each change of a phase, and what is refused, to the log, and to Events
// where there is somebody to take them. Events of one reason about one object are one,
// which is counted up.
func newTeller(recorder events.EventRecorder) teller {
	return func(ctx context.Context, k Key, was, is *lifecycle.Deployment) {
		log := klog.FromContext(ctx).WithValues("kind", k.Kind, "object", klog.KObj(k), "record", recordURI(is))
		for _, c := range phaseChanges(was, is) {
			log.Info("Phase changed", "contract", c.contract, "from", c.from, "to", c.to)
			if recorder == nil {
				continue
			}
			kind := corev1.EventTypeNormal
			if c.to == string(v1alpha1.ContractPhaseFailed) || c.to == string(v1alpha1.PhaseDegraded) {
				kind = corev1.EventTypeWarning
			}
			recorder.Eventf(regarding(is), nil, kind, c.to, actionReconcile, "%s", c.note(recordURI(is)))
		}
		before, now := refused(was), refused(is)
		switch {
		case now == nil && before != nil:
			log.Info("Not refused any more", "reason", before.Reason)
		case now != nil && (before == nil || before.Reason != now.Reason || before.Message != now.Message):
			log.Info("Refused", "reason", now.Reason, "message", now.Message)
			if recorder != nil {
				recorder.Eventf(regarding(is), nil, corev1.EventTypeWarning, now.Reason, actionReconcile, "%s", withRecord(now.Message, recordURI(is)))
			}
		}
	}
}

// refused is the condition of a deployment that says that something is; nil: nothing.
func refused(d *lifecycle.Deployment) *metav1.Condition {
	c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionContractsAdmitted)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}

// withRecord adds the record's uri to a note, which is cut for it.
func withRecord(note, uri string) string {
	if uri != "" {
		uri = " (" + uri + ")"
	}
	return cut(cut(note, maxNote-len(uri))+uri, maxNote)
}

// phaseChange of a deployment, or of one of its contracts.
type phaseChange struct{ contract, from, to, message string }

// maxNote bounds the note of an Event, in bytes: a longer one is refused.
const maxNote = 1024

// note says it in a sentence. Of one that is too long the message is cut.
func (c phaseChange) note(uri string) string {
	out := "deployment"
	if c.contract != "" {
		out = "contract " + c.contract
	}
	out += " is " + c.to
	if c.from != "" {
		out += ", was " + c.from
	}
	if uri != "" {
		uri = " (" + uri + ")"
	}
	if c.message != "" {
		out += ": " + cut(c.message, maxNote-len(out)-len(": ")-len(uri))
	}
	return cut(out+uri, maxNote)
}

func cut(s string, most int) string {
	if most = max(most, 0); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

func phaseChanges(was, is *lifecycle.Deployment) []phaseChange {
	var out []phaseChange
	before := map[string]v1alpha1.ContractPhase{}
	for _, c := range was.Status.Contracts {
		before[c.Name] = c.Phase
	}
	for _, c := range is.Status.Contracts {
		if before[c.Name] != c.Phase {
			out = append(out, phaseChange{c.Name, string(before[c.Name]), string(c.Phase), c.Message})
		}
	}
	if was.Status.Phase != is.Status.Phase {
		out = append(out, phaseChange{"", string(was.Status.Phase), string(is.Status.Phase), string(is.Status.EndReason)})
	}
	return out
}

// recordURI of a deployment; "": it isn't bound.
func recordURI(d *lifecycle.Deployment) string {
	if d.Status.Record == nil {
		return ""
	}
	return d.Status.Record.URI
}

// regarding is the object that an event is about.
func regarding(d *lifecycle.Deployment) runtime.Object {
	if d.Kind == lifecycle.KindEphemeralInfra {
		return d.EphemeralInfra()
	}
	return d.Infra()
}
