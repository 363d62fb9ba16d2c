package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestStatusUnderAnUnknownOutcome: the answer to a put is lost and the PDS goes
// away, so that nobody can tell what became of the put. The object's status and
// labels are written all the same, and neither they nor the put's part is lost.
func TestStatusUnderAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		e.create(t, newInfra("a", "before"))
		e.proxy.Set(testproxy.Fault{Kind: testproxy.LostAnswer, Before: func() {
			e.proxy.Set(testproxy.Fault{Kind: testproxy.Status500})
		}}, "com.atproto.repo.putRecord")
		put := e.do(t, request{method: http.MethodPatch, path: infras + "/a?fieldManager=putter", kind: mergePatch,
			body: `{"spec":{"description":"put"},"metadata":{"labels":{"put":"l"}}}`})
		if put.status != timedOut {
			t.Fatalf("the put: %d %s", put.status, put.body)
		}
		e.setPhase(t, "a", v1alpha1.PhaseDeploying)
		e.must(t, request{method: http.MethodPatch, path: infras + "/a?fieldManager=labeller", kind: mergePatch, body: `{"metadata":{"labels":{"between":"l"}}}`})
		if got := e.setPhase(t, "a", v1alpha1.PhaseDeployed); got.Spec.Description != "before" || got.Labels["between"] == "" {
			t.Errorf("meanwhile: %q, labels %v", got.Spec.Description, got.Labels)
		}
		e.proxy.Clear()
		waitFor(t, "all of it", func() error {
			got, err := e.cached(t.Context(), "a")
			if err != nil {
				return err
			}
			var managers []string
			for _, m := range got.ManagedFields {
				managers = append(managers, m.Manager)
			}
			if got.Spec.Description != "put" || got.Labels["put"] == "" || got.Labels["between"] == "" || got.Status.Phase != v1alpha1.PhaseDeployed ||
				got.Generation != 2 || !strings.Contains(fmt.Sprint(managers), "putter") || !strings.Contains(fmt.Sprint(managers), "labeller") {
				return fmt.Errorf("description %q, labels %v, phase %q, generation %d, managers %v", got.Spec.Description, got.Labels, got.Status.Phase, got.Generation, managers)
			}
			if phase := published(t, a, "a"); phase != "deployed" {
				return fmt.Errorf("the record shows phase %q", phase)
			}
			return nil
		})
	})
}
