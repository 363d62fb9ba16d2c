package dev_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// eventually waits for what the controller does, on a slow machine too.
func eventually(t *testing.T, what string, is func(ctx context.Context) (bool, error)) {
	t.Helper()
	testwait.Until(t, what, func() error {
		ok, err := is(t.Context())
		if err == nil && !ok {
			err = errors.New("not yet")
		}
		return err
	})
}

// soon is eventually while a controller's clock moves a little, far from any deadline: what
// it tries again it waits for by that clock.
func soon(t *testing.T, clk *testclock.FakeClock, what string, is func(ctx context.Context) (bool, error)) {
	t.Helper()
	eventually(t, what, func(ctx context.Context) (bool, error) {
		clk.Step(10 * time.Millisecond)
		return is(ctx)
	})
}

// lifecycle is one Infra on dev, with the test as the fulfiller.
type lifecycle struct {
	*testing.T
	api typed.SocialwebV1alpha1Interface
}

func (l lifecycle) phase(name string, want v1alpha1.DeploymentPhase, contracts ...v1alpha1.ContractPhase) *v1alpha1.Infra {
	l.Helper()
	var got *v1alpha1.Infra
	eventually(l.T, string(want), func(ctx context.Context) (bool, error) {
		var err error
		if got, err = l.api.Infras().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		var phases []v1alpha1.ContractPhase
		for _, c := range got.Status.Contracts {
			phases = append(phases, c.Phase)
		}
		return got.Status.Phase == want && slices.Equal(phases, contracts), nil
	})
	return got
}

func (l lifecycle) patch(name, patch string) {
	l.Helper()
	if _, err := l.api.Infras().Patch(l.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		l.Fatal(err)
	}
}

func (l lifecycle) fulfil(name, status string) {
	l.Helper()
	if _, err := l.api.ComputeContracts().Patch(l.Context(), name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status"); err != nil {
		l.Fatal(err)
	}
}

func (l lifecycle) contracts() []v1alpha1.ComputeContract {
	l.Helper()
	list, err := l.api.ComputeContracts().List(l.Context(), metav1.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	return list.Items
}

const held = `{"phase":"Held","winner":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","receipt":{"uri":"at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/computer.socialweb.market.receipt/1"}}`

// One contract from staged to released, and the deletion of its deployment.
func TestLifecycle(t *testing.T) {
	d := testdev.Start(t, testdev.Options{Controller: true})
	l := lifecycle{t, d.Client.SocialwebV1alpha1()}
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", VMName: "vm-1"}}
	web.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "front", SecretRef: v1alpha1.SecretReference{Name: "token"}}}
	if _, err := l.api.Infras().Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.phase("web", v1alpha1.PhaseStaged, v1alpha1.ContractPhaseStaged)
	if all := l.contracts(); len(all) > 0 {
		t.Fatalf("staged, and there are %v", all)
	}

	l.patch("web", `{"spec":{"contracts":[{"name":"front","vmName":"vm-1","state":"Requested"}]}}`)
	got := l.phase("web", v1alpha1.PhaseDeploying, v1alpha1.ContractPhaseRequesting)
	eventually(t, "the ComputeContract", func(context.Context) (bool, error) { return len(l.contracts()) == 1, nil })
	cc := l.contracts()[0]
	ref := metav1.GetControllerOf(&cc)
	if cc.Name != "infra-web-front" || ref == nil || ref.UID != got.UID || !ptr.Deref(ref.BlockOwnerDeletion, false) || cc.Labels[v1alpha1.LabelName] != "web" ||
		cc.Spec.VMName != "vm-1" || cc.Spec.SecretsRef == nil || cc.Spec.SecretsRef.Name != "token" || cc.Spec.Release {
		t.Errorf("ComputeContract %+v", cc)
	}

	l.fulfil(cc.Name, `{"phase":"Requesting"}`)
	l.fulfil(cc.Name, held)
	got = l.phase("web", v1alpha1.PhaseDeployed, v1alpha1.ContractPhaseDeployed)
	if c := got.Status.Contracts[0]; c.Winner != "did:plc:ewvi7nxzyoun6zhxrhs64oiz" || c.Receipt == "" {
		t.Errorf("contract %+v", c)
	}

	if err := l.api.Infras().Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.phase("web", v1alpha1.PhaseDeleting, v1alpha1.ContractPhaseReleasing)
	eventually(t, "release", func(context.Context) (bool, error) { return l.contracts()[0].Spec.Release, nil })
	l.fulfil(cc.Name, `{"phase":"Releasing"}`)
	l.fulfil(cc.Name, `{"phase":"Released"}`)
	eventually(t, "the end", func(ctx context.Context) (bool, error) {
		_, err := l.api.Infras().Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if all := l.contracts(); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// What may not be executed waits, and goes on once it may: the repository wakes it.
func TestExecutionWaits(t *testing.T) {
	data := t.TempDir()
	d := testdev.Start(t, testdev.Options{DataDir: data})
	l := lifecycle{t, d.Client.SocialwebV1alpha1()}
	execution := func(to string) {
		t.Helper()
		if _, err := l.api.AtprotoRepos().Patch(t.Context(), "default", types.MergePatchType, []byte(`{"spec":{"execution":`+to+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	execution(`"ObserveOnly"`)
	// A controller that runs meanwhile may see a new deployment before it sees that.
	d.Stop(t)
	d = testdev.Start(t, testdev.Options{DataDir: data, Controller: true})
	l.api = d.Client.SocialwebV1alpha1()
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	if _, err := l.api.Infras().Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := l.phase("web", v1alpha1.PhaseStaged, v1alpha1.ContractPhaseStaged)
	if c := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionExecuting); c == nil || c.Reason != "ObserveOnly" || len(got.Finalizers) > 0 || len(l.contracts()) > 0 {
		t.Errorf("condition %+v, finalizers %v, contracts %v", c, got.Finalizers, l.contracts())
	}
	execution("null")
	l.phase("web", v1alpha1.PhaseDeploying, v1alpha1.ContractPhaseRequesting)
	execution(`"ObserveOnly"`)
	l.patch("web", `{"spec":{"description":"seen"}}`)
	eventually(t, "the change is seen", func(ctx context.Context) (bool, error) {
		var err error
		got, err = l.api.Infras().Get(ctx, "web", metav1.GetOptions{})
		return err == nil && got.Status.ObservedGeneration == got.Generation, err
	})
	if got.Status.Phase != v1alpha1.PhaseDeploying || len(l.contracts()) != 1 || l.contracts()[0].Spec.Release {
		t.Errorf("what was requested doesn't go on: %s, %v", got.Status.Phase, l.contracts())
	}
}

// An EphemeralInfra ends at its deadline by the controller's clock, and goes with its
// record. Nobody has taken its contract on, so it is released at once.
func TestEphemeralDeadline(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	d := testdev.Start(t, testdev.Options{Controller: true, Deadlines: clk})
	l := lifecycle{t, d.Client.SocialwebV1alpha1()}
	job := &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.TTLSeconds = ptr.To[int32](120)
	job.Spec.Contracts = []v1alpha1.Contract{{Name: "run", State: v1alpha1.ContractRequested}}
	if _, err := l.api.EphemeralInfras().Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	soon(t, clk, "request", func(context.Context) (bool, error) { return len(l.contracts()) == 1, nil })
	if name := l.contracts()[0].Name; name != "einfra-job-run" {
		t.Errorf("ComputeContract %s", name)
	}
	clk.Step(time.Minute)
	if got, err := l.api.EphemeralInfras().Get(t.Context(), "job", metav1.GetOptions{}); err != nil || got.Status.EndedAt != nil {
		t.Errorf("before its deadline: %+v, %v", got, err)
	}
	eventually(t, "the end", func(ctx context.Context) (bool, error) {
		clk.Step(time.Minute) // again, lest it was stepped before the deadline was set
		_, err := l.api.EphemeralInfras().Get(ctx, "job", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if all := l.contracts(); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}
