package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
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
	statuses int                         // that changed something
	written  *lifecycle.Deployment       // at last
	tries    int                         // to create
	standing []*v1alpha1.ComputeContract // all the same
}

func (a *refusing) Contract(_ context.Context, _, name string) (*v1alpha1.ComputeContract, error) {
	for _, cc := range a.standing {
		if cc.Name == name {
			return cc, nil
		}
	}
	return nil, apierrors.NewNotFound(v1alpha1.Resource("computecontracts"), name)
}

func (a *refusing) UpdateStatus(_ context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	if a.written == nil || !equality.Semantic.DeepEqual(a.written.Status, d.Status) {
		a.statuses++
	}
	a.written = d
	return d, nil
}

func (a *refusing) Hold(_ context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	return nil, apierrors.NewForbidden(v1alpha1.Resource("infras"), d.Name, errors.New("no right"))
}

func (a *refusing) Create(_ context.Context, _ *lifecycle.Deployment, action *lifecycle.Action) error {
	a.tries++
	return apierrors.NewForbidden(v1alpha1.Resource("computecontracts"), action.Name, fmt.Errorf("exceeded quota: used: bytes=%d", a.tries))
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
// released. The status and an Event say so once, however often it is tried, and no more
// once it is taken.
func TestRefusedContractHoldsNothingUp(t *testing.T) {
	yes := true
	d := &lifecycle.Deployment{Kind: lifecycle.KindInfra, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1", Finalizers: []string{v1alpha1.FinalizerRelease}}}
	d.Spec.Contracts = []v1alpha1.Contract{{Name: "a", State: v1alpha1.ContractRequested}, {Name: "b", State: v1alpha1.ContractReleased}}
	d.Status.Requests = []v1alpha1.ContractRequest{{Contract: "a", ComputeContract: "infra-web-a"}, {Contract: "b", ComputeContract: "infra-web-b", UID: "7"}}
	d.Status.Contracts = []v1alpha1.ContractStatus{{Name: "a", Phase: v1alpha1.ContractPhaseRequesting}, {Name: "b", Phase: v1alpha1.ContractPhaseDeployed}}
	standing := func(name string, uid types.UID) *v1alpha1.ComputeContract {
		cc := &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: lifecycle.KindInfra, Name: "web", UID: "1", Controller: &yes},
		}}}
		cc.Status.Phase = v1alpha1.ComputeHeld
		return cc
	}
	s := &refusing{}
	seen := &seenOne{deployment: d, contracts: []*v1alpha1.ComputeContract{standing("infra-web-b", "7")}}
	told, clock := events.NewFakeRecorder(10), testclock.NewFakePassiveClock(time.Now())
	r := &reconciler{api: s, cache: seen, clock: clock, tell: newTeller(told)}
	look := func() error {
		_, err := r.reconcile(t.Context(), Key{lifecycle.KindInfra, defaultWorkspace, "web"})
		seen.deployment = s.written
		return err
	}
	if err := look(); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want the refusal", err)
	}
	if !slices.Equal(s.released, []string{"infra-web-b"}) {
		t.Errorf("released %q", s.released)
	}
	c := refused(s.written)
	if c == nil || c.Reason != v1alpha1.ReasonQuotaExceeded || !strings.HasPrefix(c.Message, `creation refused: a: computecontracts.socialweb.computer "infra-web-a" is forbidden: exceeded quota: `) {
		t.Fatalf("%+v", c)
	}
	written := s.statuses
	for range 5 {
		clock.SetTime(clock.Now().Add(time.Hour))
		if err := look(); !apierrors.IsForbidden(err) {
			t.Errorf("%v, want the refusal", err)
		}
	}
	if s.statuses != written || *refused(s.written) != *c {
		t.Errorf("%d status writes of what is said already: %+v", s.statuses-written, refused(s.written))
	}
	seen.contracts = append(seen.contracts, standing("infra-web-a", "8"))
	s.standing = seen.contracts
	if err := look(); err != nil || refused(s.written) != nil {
		t.Errorf("%v, %+v", err, refused(s.written))
	}
	var refusals []string
	for range len(told.Events) {
		if e := <-told.Events; strings.HasPrefix(e, "Warning") {
			refusals = append(refusals, e)
		}
	}
	if len(refusals) != 1 || !strings.HasPrefix(refusals[0], "Warning QuotaExceeded creation refused: a: ") {
		t.Errorf("Events %q", refusals)
	}
}

// A deployment that can't get the finalizer says why, and of its contracts nothing.
func TestRefusedFinalizer(t *testing.T) {
	d := &lifecycle.Deployment{Kind: lifecycle.KindInfra, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}}
	d.Spec.Contracts = []v1alpha1.Contract{{Name: "a", State: v1alpha1.ContractRequested}}
	s, seen := &refusing{}, &seenOne{deployment: d}
	r := &reconciler{api: s, cache: seen, clock: testclock.NewFakePassiveClock(time.Now()), tell: newTeller(nil)}
	for range 3 {
		if _, err := r.reconcile(t.Context(), Key{lifecycle.KindInfra, defaultWorkspace, "web"}); !apierrors.IsForbidden(err) {
			t.Errorf("%v, want the refusal", err)
		}
		seen.deployment = s.written
	}
	if c := refused(s.written); c == nil || c.Reason != v1alpha1.ReasonForbidden || !strings.HasPrefix(c.Message, "the deployment's finalizer refused: infras.") {
		t.Errorf("%+v", c)
	}
	if s.statuses != 1 || len(s.written.Status.Requests) > 0 || len(s.written.Status.Contracts) > 0 {
		t.Errorf("%d status writes, %+v", s.statuses, s.written.Status)
	}
}

// quoting is a server that repeats what it was sent, as validation does.
type quoting struct{ refusing }

func (*quoting) Create(_ context.Context, _ *lifecycle.Deployment, action *lifecycle.Action) error {
	return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("ComputeContract").GroupKind(), action.Name, field.ErrorList{
		field.Invalid(field.NewPath("spec", "userData"), "hunter2", "too short"), field.NotFound(field.NewPath("spec", "secretsRef"), "web-tls"),
	})
}

// What the worker logs of a refusal tells of no Secret either, nor what a field has.
func TestErrorTellsNoSecret(t *testing.T) {
	d := &lifecycle.Deployment{Kind: lifecycle.KindInfra, ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1", Finalizers: []string{v1alpha1.FinalizerRelease}}}
	d.Spec.Contracts = []v1alpha1.Contract{{Name: "a", State: v1alpha1.ContractRequested}}
	d.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "a", SecretRef: v1alpha1.SecretReference{Name: "web-tls"}}}
	d.Status.Requests = []v1alpha1.ContractRequest{{Contract: "a", ComputeContract: "infra-web-a"}}
	d.Status.Contracts = []v1alpha1.ContractStatus{{Name: "a", Phase: v1alpha1.ContractPhaseRequesting}}
	r := &reconciler{api: &quoting{}, cache: &seenOne{deployment: d}, clock: testclock.NewFakePassiveClock(time.Now()), tell: newTeller(nil)}
	_, err := r.reconcile(t.Context(), Key{lifecycle.KindInfra, defaultWorkspace, "web"})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "too short") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "web-tls") {
		t.Errorf("%v", err)
	}
}
