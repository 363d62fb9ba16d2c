//go:build e2e

package contracts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// many contracts, so that the controller is in the middle of them for a while.
const many = 12

// The controller that leads is killed between noting what it requests and having
// requested all of it. Its standby goes on: every contract is requested once.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	calm.Lock()
	defer calm.Unlock()
	f, contracts := plane.Fulfiller(t), followContracts(t)
	leader := plane.Leader(t)
	defer leader.Start(t)
	var phases []string
	name := bound(t, "", func(o *v1alpha1.Infra) {
		o.Spec.Contracts = nil
		for i := range many {
			c := v1alpha1.Contract{Name: fmt.Sprintf("c%d", i), State: v1alpha1.ContractRequested}
			o.Spec.Contracts = append(o.Spec.Contracts, c)
			phases = append(phases, c.Name+"=Deployed")
		}
	})
	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if len(o.Status.Requests) == 0 {
			return errors.New("nothing is requested")
		}
		return nil
	})
	leader.Kill(t)
	f.Serve(t, name)
	awaitInfra(t, name, inPhase(v1alpha1.PhaseDeployed, phases...))
	if now := plane.Leader(t); now == leader {
		t.Errorf("%s still leads", leader.Name)
	}
	if all := contracts.of(t, name); len(all) != many {
		t.Errorf("%d ComputeContracts for %d contracts", len(all), many)
	}
	if err := infras().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	infraGone(t, name)
	for uid, phase := range contracts.of(t, name) {
		if phase != v1alpha1.ComputeReleased {
			t.Errorf("%s came to %s", uid, phase)
		}
	}
}

// The API can't be reached by any controller when a deadline comes. Nothing happens to
// the deployment; once the API is there again, it ends, once.
func TestDeadlineWhileAPIIsAway(t *testing.T) {
	t.Parallel()
	calm.Lock()
	defer calm.Unlock()
	alice, f := plane.Account(t, "alice"), plane.Fulfiller(t)
	contracts := followContracts(t)
	defer plane.ControllerLane.Open(t)
	var o *v1alpha1.EphemeralInfra
	for left := leftAtFirst; ; left *= 2 {
		o = deployedWithDeadline(t, alice, f, left)
		if plane.ControllerLane.Cut(); time.Now().Before(o.Status.ExpiresAt.Time) {
			break
		}
		plane.ControllerLane.Open(t) // too late: once more, with more time
	}
	h := followEphemeral(t, o)
	// Of wall time: its coming is what the row is about.
	select {
	case <-t.Context().Done():
		t.Fatal("the test ended")
	case <-time.After(time.Until(o.Status.ExpiresAt.Time) + 2*time.Second):
	}
	now, err := ephemeralInfras().Get(t.Context(), o.Name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil || phases(&now.Status.InfraStatus, v1alpha1.PhaseDeployed, "web=Deployed") != nil || now.Status.EndedAt != nil {
		t.Errorf("without the API: %v %+v", err, now.Status)
	}
	c, err := computeContracts().Get(t.Context(), "e"+computeName(o.Name), metav1.GetOptions{})
	if err != nil || c.Spec.Release || c.Status.Phase != v1alpha1.ComputeHeld {
		t.Errorf("without the API: %v %+v", err, c)
	}
	plane.ControllerLane.Open(t)
	ended(t, alice, o, h)
	contracts.deleted(t, o.Name)
}
