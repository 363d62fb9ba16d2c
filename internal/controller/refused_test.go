package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// seenOne is a cache of one deployment and its ComputeContracts.
type seenOne struct {
	Cache
	deployment *lifecycle.Deployment
	contracts  []*v1alpha1.ComputeContract
}

func (s *seenOne) Deployment(Key) *lifecycle.Deployment              { return s.deployment }
func (s *seenOne) ContractsOf(types.UID) []*v1alpha1.ComputeContract { return s.contracts }

// refusing is a server that takes no new ComputeContract.
type refusing struct {
	API
	released []string
	ends     int
}

func (a *refusing) Contract(_ context.Context, _, name string) (*v1alpha1.ComputeContract, error) {
	return nil, apierrors.NewNotFound(v1alpha1.Resource("computecontracts"), name)
}

func (a *refusing) UpdateStatus(_ context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	return d, nil
}

func (a *refusing) Create(_ context.Context, _ *lifecycle.Deployment, action *lifecycle.Action) error {
	return apierrors.NewForbidden(v1alpha1.Resource("computecontracts"), action.Name, errors.New("exceeded quota"))
}

func (a *refusing) Release(_ context.Context, _, name string, _ types.UID) error {
	a.released = append(a.released, name)
	return nil
}

func (a *refusing) End(_ context.Context, d *lifecycle.Deployment) error {
	a.ends++
	return apierrors.NewForbidden(v1alpha1.Resource("ephemeralinfras"), d.Name, errors.New("its record can't be deleted"))
}

func (s *seenOne) Repo(string, string) *v1alpha1.AtprotoRepo { return nil }

// An EphemeralInfra of somebody else's record can't be deleted: it has ended, and that is
// all. It is not tried again and again.
func TestForeignEphemeralInfraStaysEnded(t *testing.T) {
	now := time.Now()
	for _, foreign := range []bool{true, false} {
		d := &lifecycle.Deployment{Kind: lifecycle.KindEphemeralInfra, ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "1"}}
		at := metav1.NewTime(now.Add(-time.Second))
		d.Status.ExpiresAt = &at
		if foreign {
			d.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "theirs"}}
		}
		s := &refusing{}
		r := &reconciler{
			api: s, cache: &seenOne{deployment: d}, clock: testclock.NewFakePassiveClock(now),
			tell: func(context.Context, Key, *lifecycle.Deployment, *lifecycle.Deployment) {},
		}
		next, err := r.reconcile(t.Context(), Key{lifecycle.KindEphemeralInfra, defaultWorkspace, "job"})
		if s.ends != 1 || apierrors.IsForbidden(err) == foreign || !next.IsZero() {
			t.Errorf("foreign %t: ended %d times, next %v, %v", foreign, s.ends, next, err)
		}
	}
}

// A ComputeContract that is refused, for as long as it may be, keeps no other from being
// released.
func TestRefusedContractHoldsNothingUp(t *testing.T) {
	yes := true
	d := &lifecycle.Deployment{Kind: lifecycle.KindInfra, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1", Finalizers: []string{v1alpha1.FinalizerRelease}}}
	d.Spec.Contracts = []v1alpha1.Contract{{Name: "a", State: v1alpha1.ContractRequested}, {Name: "b", State: v1alpha1.ContractReleased}}
	d.Status.Requests = []v1alpha1.ContractRequest{{Contract: "a", ComputeContract: "infra-web-a"}, {Contract: "b", ComputeContract: "infra-web-b", UID: "7"}}
	d.Status.Contracts = []v1alpha1.ContractStatus{{Name: "a", Phase: v1alpha1.ContractPhaseRequesting}, {Name: "b", Phase: v1alpha1.ContractPhaseDeployed}}
	held := &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: "infra-web-b", UID: "7", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: lifecycle.KindInfra, Name: "web", UID: "1", Controller: &yes},
	}}}
	held.Status.Phase = v1alpha1.ComputeHeld
	s := &refusing{}
	r := &reconciler{
		api: s, cache: &seenOne{deployment: d, contracts: []*v1alpha1.ComputeContract{held}}, clock: testclock.NewFakePassiveClock(time.Now()),
		tell: func(context.Context, Key, *lifecycle.Deployment, *lifecycle.Deployment) {},
	}
	if _, err := r.reconcile(t.Context(), Key{lifecycle.KindInfra, defaultWorkspace, "web"}); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want the refusal", err)
	}
	if !slices.Equal(s.released, []string{"infra-web-b"}) {
		t.Errorf("released %q", s.released)
	}
}
