package lifecycle

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

var now = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

func at(after time.Duration) *metav1.Time {
	t := metav1.NewTime(now.Add(after))
	return &t
}

// infra web of uid 1 with the one contract front in a state; "": with none.
func infra(state v1alpha1.ContractState) *Deployment {
	d := &Deployment{Kind: KindInfra}
	d.Name, d.UID, d.Generation, d.Finalizers = "web", "1", 3, []string{v1alpha1.FinalizerRelease}
	if state != "" {
		d.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: state, VMName: "vm"}}
	}
	return d
}

// entry of front in the notation name/uid, with ! in front where it is superseded.
func (d *Deployment) withEntry(s string) *Deployment {
	if s == "" {
		return d
	}
	s, superseded := strings.CutPrefix(s, "!")
	name, uid, _ := strings.Cut(s, "/")
	d.Status.Requests = append(d.Status.Requests, v1alpha1.ContractRequest{
		Contract: "front", ComputeContract: name, UID: types.UID(uid), Superseded: superseded,
	})
	return d
}

func (d *Deployment) withPhase(p v1alpha1.ContractPhase) *Deployment {
	if p != "" {
		d.Status.Contracts = append(d.Status.Contracts, v1alpha1.ContractStatus{Name: "front", Phase: p})
	}
	return d
}

// contract owned by the deployment of uid 1, in the notation uid:phase, followed by
// R where release is set, D where it is being deleted, X where another owns it, N where
// nobody does.
func contract(s string) *v1alpha1.ComputeContract {
	if s == "" {
		return nil
	}
	uid, rest, _ := strings.Cut(s, ":")
	phase, flags, _ := strings.Cut(rest, ",")
	cc := &v1alpha1.ComputeContract{}
	cc.Name, cc.UID, cc.Status.Phase = "infra-web-front", types.UID(uid), v1alpha1.ComputeContractPhase(phase)
	cc.Labels = map[string]string{v1alpha1.LabelContract: "front"}
	cc.Finalizers = []string{v1alpha1.FinalizerRelease}
	cc.Spec.VMName, cc.Spec.Release = "vm", strings.Contains(flags, "R")
	if strings.Contains(flags, "D") {
		cc.DeletionTimestamp = at(0)
	}
	owner, yes := types.UID("1"), true
	if strings.Contains(flags, "X") {
		owner = "other"
	}
	if strings.Contains(flags, "N") {
		return cc
	}
	cc.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: KindInfra, Name: "web", UID: owner, Controller: &yes}}
	return cc
}

// told is a decision in words: phase of the deployment; of front; its entry; acts.
func told(d Decision) string {
	phase, entry := "-", "-"
	if len(d.Status.Contracts) > 0 {
		phase = string(d.Status.Contracts[0].Phase)
	}
	if len(d.Status.Requests) > 0 {
		r := d.Status.Requests[0]
		entry = r.ComputeContract + "/" + string(r.UID)
		if r.Superseded {
			entry = "!" + entry
		}
	}
	words := []string{string(d.Status.Phase), phase, entry}
	for _, a := range d.Actions {
		word := string(a.Do)
		if a.Confirm {
			word += "?"
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

func expect(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}
