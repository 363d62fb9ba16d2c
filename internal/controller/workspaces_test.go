package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testkcp"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// tenants are workspaces of a server behind a kcp.
type tenants struct {
	*testing.T
	dev   *testdev.Dev
	clock *testclock.FakeClock
}

func (s tenants) in(ws string) typed.SocialwebV1alpha1Interface {
	s.Helper()
	c := rest.CopyConfig(s.dev.Config)
	c.Host += "/clusters/" + ws
	client, err := typed.NewForConfig(c)
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// eventually waits for something while the controller's time passes quickly.
func (s tenants) eventually(what string, is func(ctx context.Context) (bool, error)) {
	s.Helper()
	testwait.Until(s, what, func() error {
		s.clock.Step(10 * time.Second)
		return yes(is(s.Context()))
	})
}

// web is the Infra of a workspace.
func (s tenants) web(ws string) *v1alpha1.Infra {
	s.Helper()
	o, err := s.in(ws).Infras().Get(s.Context(), "web", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// bound is the status of condition WorkspaceBound of web.
func (s tenants) bound(ws string) metav1.ConditionStatus {
	s.Helper()
	if c := meta.FindStatusCondition(s.web(ws).Status.Conditions, v1alpha1.ConditionWorkspaceBound); c != nil {
		return c.Status
	}
	return ""
}

// deploy an Infra that is held, and an EphemeralInfra of a time.
func (s tenants) deploy(ws string, ttl int32) {
	s.Helper()
	client := s.in(ws)
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	job := &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.TTLSeconds, job.Spec.Contracts = &ttl, []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	if _, err := client.Infras().Create(s.Context(), web, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	if _, err := client.EphemeralInfras().Create(s.Context(), job, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	for _, name := range []string{"infra-web-front", "einfra-job-front"} {
		s.eventually(name, func(ctx context.Context) (bool, error) {
			_, err := client.ComputeContracts().Get(ctx, name, metav1.GetOptions{})
			return err == nil, ignoreNotFound(err)
		})
		s.phase(ws, name, v1alpha1.ComputeHeld)
	}
	// Both: what is then seen of a workspace changes no more by itself.
	s.eventually("deployed", func(ctx context.Context) (bool, error) {
		job, err := client.EphemeralInfras().Get(ctx, "job", metav1.GetOptions{})
		return err == nil && job.Status.Phase == v1alpha1.PhaseDeployed && s.web(ws).Status.Phase == v1alpha1.PhaseDeployed, err
	})
}

// contractSays tells whether what is held in a workspace says this of it.
func (s tenants) contractSays(ws, want string) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		cc, err := s.in(ws).ComputeContracts().Get(ctx, "infra-web-front", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(cc.Status.Conditions, v1alpha1.ConditionWorkspaceBound)
		return c != nil && string(c.Status)+" "+c.Reason == want, nil
	}
}

func (s tenants) phase(ws, name string, p v1alpha1.ComputeContractPhase) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, p)
	if _, err := s.in(ws).ComputeContracts().Patch(s.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		s.Fatal(err)
	}
}

// versions of everything in a workspace.
func (s tenants) versions(ws string) string {
	s.Helper()
	infras, err := s.in(ws).Infras().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	jobs, err := s.in(ws).EphemeralInfras().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	contracts, err := s.in(ws).ComputeContracts().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for i := range infras.Items {
		out = append(out, infras.Items[i].Name+"@"+infras.Items[i].ResourceVersion)
	}
	for i := range jobs.Items {
		out = append(out, jobs.Items[i].Name+"@"+jobs.Items[i].ResourceVersion)
	}
	for i := range contracts.Items {
		out = append(out, contracts.Items[i].Name+"@"+contracts.Items[i].ResourceVersion)
	}
	return strings.Join(out, " ")
}

// control runs a controller until the test ends or end is called.
func (s tenants) control(e *export.Client, c clock.WithTicker) (end func()) {
	s.Helper()
	made, err := controller.New(controller.Config{Server: s.dev.Config, Workspaces: true, KCP: e, Clock: c})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- made.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	}
}

// Workspaces of two shards have objects of the same names. One goes: they are flagged and
// kept, what is held runs on, deadlines pass, nothing new is requested, and nothing of the
// other is touched. It comes back, and all goes on.
func TestWorkspaceGoes(t *testing.T) {
	t.Parallel()
	kcp := testkcp.Start(t, 2)
	kcp.Shard(0).Bind("goes", true)
	kcp.Shard(1).Bind("stays", true)
	client, err := export.New(kcp.Config, testkcp.Export)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	s := tenants{t, testdev.Start(t, testdev.Options{Workspaces: true}), testclock.NewFakeClock(time.Now())}
	end := s.control(client, s.clock)
	s.deploy("goes", 1_000_000)
	s.deploy("stays", 100_000_000)
	before := s.versions("stays")

	kcp.Shard(0).Unbind("goes")
	s.eventually("flag", func(context.Context) (bool, error) { return s.bound("goes") == metav1.ConditionFalse, nil })
	s.eventually("flag of its ComputeContract", s.contractSays("goes", "False "+v1alpha1.ReasonWorkspaceGone))
	if _, err := s.in("goes").Infras().Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"contracts":[{"name":"front","state":"Requested"},{"name":"back","state":"Requested"}]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("nothing new is requested", func(context.Context) (bool, error) {
		c := meta.FindStatusCondition(s.web("goes").Status.Conditions, v1alpha1.ConditionExecuting)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonWorkspaceGone, nil
	})
	if cc, err := s.in("goes").ComputeContracts().Get(t.Context(), "infra-web-front", metav1.GetOptions{}); err != nil || cc.Spec.Release {
		t.Errorf("what was held: %+v, %v", cc, err)
	}
	// Who starts anew knows nothing yet, and leaves it as it is.
	end()
	kcp.Invalidate("APIExportNotFound")
	end = s.control(client, s.clock)
	defer end()
	s.clock.Step(1_000_000 * time.Second)
	s.eventually("its deadline", func(ctx context.Context) (bool, error) {
		cc, err := s.in("goes").ComputeContracts().Get(ctx, "einfra-job-front", metav1.GetOptions{})
		return err == nil && cc.Spec.Release, err
	})
	s.phase("goes", "einfra-job-front", v1alpha1.ComputeReleased)
	s.eventually("its end", func(ctx context.Context) (bool, error) {
		_, err := s.in("goes").EphemeralInfras().Get(ctx, "job", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	if is := s.bound("goes"); is != metav1.ConditionFalse {
		t.Errorf("after a restart: %q", is)
	}
	if after := s.versions("stays"); after != before {
		t.Errorf("the other workspace: %s, was %s", after, before)
	}

	kcp.Invalidate("")
	kcp.Shard(0).Bind("goes", true)
	s.eventually("back", func(context.Context) (bool, error) { return s.bound("goes") == metav1.ConditionTrue, nil })
	s.eventually("its ComputeContract", s.contractSays("goes", "True "+v1alpha1.ReasonWorkspaceBound))
	s.eventually("what waited", func(ctx context.Context) (bool, error) {
		_, err := s.in("goes").ComputeContracts().Get(ctx, "infra-web-back", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	if is := s.bound("stays"); is != "" {
		t.Errorf("the other workspace is told that it is there: %s", is)
	}
}
