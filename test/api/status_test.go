package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// setPhase writes the observed phase of an Infra.
func (s *server) setPhase(t *testing.T, name string, phase v1alpha1.DeploymentPhase) *v1alpha1.Infra {
	t.Helper()
	a := s.must(t, request{method: http.MethodPatch, path: infras + "/" + name + "/status", kind: mergePatch,
		body: fmt.Sprintf(`{"status":{"phase":%q}}`, phase)})
	i := decode[v1alpha1.Infra](t, a.body)
	return &i
}

// published is the phase that the record shows.
func published(t *testing.T, a *account, name string) string {
	t.Helper()
	value, _ := a.get(t, name)
	status, _ := value["status"].(record)
	phase, _ := status["phase"].(string)
	return phase
}

// TestStatusDuringAnOutage: statuses are accepted while the PDS is away, and
// published when it is back: the last one, by one write.
func TestStatusDuringAnOutage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		e.create(t, newInfra("a", "x"))
		e.proxy.Set(testproxy.Fault{Kind: testproxy.Refused})
		for _, phase := range []v1alpha1.DeploymentPhase{v1alpha1.PhaseDeploying, v1alpha1.PhaseDeployed, v1alpha1.PhaseDegraded} {
			if got := e.setPhase(t, "a", phase); got.Status.Phase != phase {
				t.Errorf("phase %q, want %q", got.Status.Phase, phase)
			}
			time.Sleep(600 * time.Millisecond) // longer than changes are collected: each is tried
		}
		puts := e.proxy.Calls("com.atproto.repo.putRecord")
		e.proxy.Clear()
		waitFor(t, "publishing", func() error {
			if got := published(t, a, "a"); got != "degraded" {
				return fmt.Errorf("the record shows %q", got)
			}
			return nil
		})
		waitFor(t, "InSync", func() error {
			i, err := e.cached(t.Context(), "a")
			if err != nil {
				return err
			}
			if _, cid := a.get(t, "a"); i.Status.Record.Direction != v1alpha1.DirectionInSync || i.Status.Record.CID != cid {
				return fmt.Errorf("record %s, status %+v", cid, i.Status.Record)
			}
			return nil
		})
		if n := e.proxy.Calls("com.atproto.repo.putRecord") - puts; n != 1 {
			t.Errorf("%d writes for one status", n)
		}
	})
}

// TestStatusThatSaysNothingNew: a status whose published part is what the record
// shows, and a label, cost the PDS nothing.
func TestStatusThatSaysNothingNew(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	e.setPhase(t, "a", v1alpha1.PhaseStaged)
	waitFor(t, "publishing", func() error {
		if got := published(t, e.account, "a"); got != "staged" {
			return fmt.Errorf("the record shows %q", got)
		}
		return nil
	})
	rev := e.account.rev(t)
	for i := range 5 {
		e.must(t, request{method: http.MethodPatch, path: infras + "/a/status", kind: mergePatch,
			body: fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, i)})
		e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch,
			body: fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i)})
	}
	time.Sleep(1500 * time.Millisecond) // three times what changes are collected for
	if now := e.account.rev(t); now != rev {
		t.Errorf("rev %s, was %s", now, rev)
	}
}

// TestStatusIsWrittenBack: an edit made elsewhere that drops our status takes
// effect, and the status is put back.
func TestStatusIsWrittenBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		e.create(t, newInfra("a", "x"))
		e.setPhase(t, "a", v1alpha1.PhaseDeployed)
		waitFor(t, "publishing", func() error { return contains(a.raw(t, "a"), "deployed") })
		for i := range 5 { // an honest client that knows nothing of statuses contests nothing
			want := fmt.Sprintf("edit %d", i)
			a.put(t, "a", infraRecord(want))
			waitFor(t, "writing back", func() error { return contains(a.raw(t, "a"), "deployed", want) })
		}
		if c := condition(e.infra(t, "a"), v1alpha1.ConditionStatusContested); c.Status == metav1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
	})
}

// TestTwoDeploymentsOfOneAccount: two servers that know nothing of each other
// serve one account and observe different things. Neither loses an edit, and
// their fight over the published status ends, with a condition that says so.
func TestTwoDeploymentsOfOneAccount(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	one, two := newEnv(t, a), newEnv(t, a)
	one.create(t, newInfra("a", "x"))
	one.setPhase(t, "a", v1alpha1.PhaseDeployed)
	two.infra(t, "a")
	two.setPhase(t, "a", v1alpha1.PhaseReleasing)
	waitFor(t, "condition StatusContested", func() error {
		for _, e := range []*env{one, two} {
			if condition(e.infra(t, "a"), v1alpha1.ConditionStatusContested).Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("neither has it, at rev %s", a.rev(t))
	})
	quiet := 0
	last := a.rev(t)
	waitFor(t, "peace", func() error {
		time.Sleep(500 * time.Millisecond)
		now := a.rev(t)
		if quiet++; now != last {
			quiet, last = 0, now
		}
		if quiet < 6 {
			return fmt.Errorf("rev %s", now)
		}
		return nil
	})
	// A later status of the loser's counts again, and the declaration was never
	// contested.
	for i, e := range []*env{one, two} {
		e.change(t, "a", func(obj *v1alpha1.Infra) { obj.Spec.Description = fmt.Sprintf("edit %d", i) })
	}
	if x, y := one.infra(t, "a"), two.infra(t, "a"); x.Spec.Description != "edit 1" || y.Spec.Description != "edit 1" {
		t.Errorf("%q and %q", x.Spec.Description, y.Spec.Description)
	}
}
