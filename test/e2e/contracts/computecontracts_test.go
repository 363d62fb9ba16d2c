//go:build e2e

package contracts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

func computeContracts() typed.ComputeContractInterface {
	return plane.Admin().Infra.SocialwebV1alpha1().ComputeContracts()
}

// computeName is that of the ComputeContract of an Infra's contract "web".
func computeName(infra string) string { return "infra-" + infra + "-web" }

// inPhase says whether a deployment is in a phase, and its contracts in theirs, as
// NAME=PHASE.
func inPhase(phase v1alpha1.DeploymentPhase, contracts ...string) func(*v1alpha1.Infra) error {
	return func(o *v1alpha1.Infra) error { return phases(&o.Status, phase, contracts...) }
}

func phases(s *v1alpha1.InfraStatus, phase v1alpha1.DeploymentPhase, contracts ...string) error {
	var got []string
	for _, c := range s.Contracts {
		got = append(got, c.Name+"="+string(c.Phase))
	}
	if s.Phase != phase || !slices.Equal(got, contracts) {
		return fmt.Errorf("phase %s %v %+v, want %s %v", s.Phase, got, s.Conditions, phase, contracts)
	}
	return nil
}

// contractHistory is what happened to ComputeContracts.
type contractHistory struct {
	*history[*v1alpha1.ComputeContract]
}

// followContracts is the history of all of them from now on.
func followContracts(t *testing.T) contractHistory {
	t.Helper()
	list, err := computeContracts().List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return contractHistory{follow[*v1alpha1.ComputeContract](t, computeContracts().Watch, metav1.ListOptions{ResourceVersion: list.ResourceVersion})}
}

// upToDate waits until the history of a deployment's ComputeContracts has come to what the
// server has: a watch is behind what another tells, and not on the same replica.
func (h contractHistory) upToDate(t *testing.T, deployment string) {
	t.Helper()
	selector := labels.Set{v1alpha1.LabelName: deployment}.String()
	harness.Eventually(t, func(ctx context.Context) error {
		list, err := computeContracts().List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		now, seen := map[types.UID]string{}, map[types.UID]string{}
		for _, c := range list.Items {
			now[c.UID] = c.ResourceVersion
		}
		all, err := h.all()
		for _, e := range all {
			switch c := e.object; {
			case c.Labels[v1alpha1.LabelName] != deployment:
			case e.kind == watch.Deleted:
				delete(seen, c.UID)
			default:
				seen[c.UID] = c.ResourceVersion
			}
		}
		if !maps.Equal(now, seen) {
			err = errors.Join(fmt.Errorf("the server has %v, the history %v", now, seen), err)
		}
		return err
	})
}

// of are the ComputeContracts that a deployment ever had up to now: what each came to, by
// its uid. It knows the rules that hold at every moment.
func (h contractHistory) of(t *testing.T, deployment string) map[types.UID]v1alpha1.ComputeContractPhase {
	t.Helper()
	h.upToDate(t, deployment)
	out := map[types.UID]v1alpha1.ComputeContractPhase{}
	released := map[types.UID]bool{}
	live := map[string]types.UID{} // by their contract
	all, err := h.all()
	if err != nil {
		t.Error(err)
	}
	for _, e := range all {
		c := e.object
		if c.Labels[v1alpha1.LabelName] != deployment {
			continue
		}
		contract, phase := c.Labels[v1alpha1.LabelContract], c.Status.Phase
		if other := live[contract]; other != "" && other != c.UID {
			t.Errorf("%s: two ComputeContracts of contract %s at once", deployment, contract)
		}
		live[contract], out[c.UID] = c.UID, phase
		if released[c.UID] && !c.Spec.Release {
			t.Errorf("%s: a release was taken back", c.Name)
		}
		released[c.UID] = c.Spec.Release
		if e.kind == watch.Deleted {
			if phase != v1alpha1.ComputeReleased && phase != v1alpha1.ComputeFailed {
				t.Errorf("%s was deleted while it was %s", c.Name, phase)
			}
			delete(live, contract)
		}
	}
	return out
}

// deleted awaits that the one ComputeContract of a deployment has gone, and that it was
// Released before.
func (h contractHistory) deleted(t *testing.T, deployment string) {
	t.Helper()
	h.await(t, "the ComputeContract's deletion", func(e event[*v1alpha1.ComputeContract]) bool {
		return e.kind == watch.Deleted && e.object.Labels[v1alpha1.LabelName] == deployment
	})
	all := h.of(t, deployment)
	for uid, phase := range all {
		if phase != v1alpha1.ComputeReleased {
			t.Errorf("%s: %s came to %s", deployment, uid, phase)
		}
	}
	if len(all) != 1 {
		t.Errorf("%s had %v", deployment, all)
	}
}

// released says whether somebody asked for the release of a ComputeContract.
func released(c *v1alpha1.ComputeContract) error {
	if !c.Spec.Release {
		return errors.New("nobody asked for its release")
	}
	return nil
}
