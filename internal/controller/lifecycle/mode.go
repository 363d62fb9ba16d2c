package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// mode says whose word counts: the contracts' states, or the deployment's end.
type mode int

const (
	modeLive     mode = iota
	modeExpired       // it was over when it was first seen: it never runs, nor ends
	modeEnding        // it has ended: every contract is as if Released
	modeDeleting      // every contract is as if dropped
)

func modeOf(d *Deployment) mode {
	switch {
	case d.DeletionTimestamp != nil:
		return modeDeleting
	case d.Kind != KindEphemeralInfra:
		return modeLive
	case meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionExpiredAtFirstSight):
		return modeExpired
	case d.Status.EndedAt != nil:
		return modeEnding
	}
	return modeLive
}

// want is what is to become of a contract.
type want int

const (
	wantStaged want = iota
	wantRequested
	wantReleased
	wantDropped
)

func (m mode) want(c *v1alpha1.Contract) want {
	switch {
	case c == nil || m == modeDeleting:
		return wantDropped
	case m != modeLive:
		return wantReleased
	case c.State == v1alpha1.ContractRequested:
		return wantRequested
	case c.State == v1alpha1.ContractReleased:
		return wantReleased
	}
	return wantStaged
}

// overdue tells whether the deadline of a live EphemeralInfra has come.
func overdue(d *Deployment, now time.Time) bool {
	return d.Kind == KindEphemeralInfra && d.Status.ExpiresAt != nil && !d.Status.ExpiresAt.After(now)
}

// complete tells whether every contract that is asked for has come to its end, and
// one at least is. One that was staged again waits to be asked for anew.
func complete(d *Deployment, results []result) bool {
	if d.Kind != KindEphemeralInfra || d.Spec.EndWhen == v1alpha1.EndDeadline {
		return false
	}
	asked := false
	for _, r := range results {
		c := d.contract(r.name)
		if c == nil || modeLive.want(c) == wantStaged {
			continue
		}
		if !terminal(r.status.Phase) || r.entry != nil && r.entry.Superseded {
			return false
		}
		asked = true
	}
	return asked
}
