package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestTwoReplicas: two servers on one etcd are one: what was written at the one is
// what the other reads and watches next, at the same resourceVersion; they write at
// once without losing anything; and the one that is left goes on with everything.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		second := &env{server: e.twin(t), account: a, proxy: e.proxy}
		replicas := []*env{e, second}
		w := second.watch(t, infras+"?watch=1&resourceVersion="+second.rv(t))
		for i := range 20 {
			writer, reader := replicas[i%2], replicas[(i+1)%2]
			made := writer.create(t, newInfra(fmt.Sprintf("o%d", i), "x"))
			if got := reader.infra(t, made.Name); number(t, got.ResourceVersion) < number(t, made.ResourceVersion) || got.UID != made.UID {
				t.Errorf("%s: %s at one, %s at the other", made.Name, made.ResourceVersion, got.ResourceVersion)
			}
			waitFor(t, "one resourceVersion of "+made.Name, func() error { // it is marked as being in sync meanwhile
				if a, b := writer.infra(t, made.Name), reader.infra(t, made.Name); a.ResourceVersion != b.ResourceVersion {
					return fmt.Errorf("%s at one, %s at the other", a.ResourceVersion, b.ResourceVersion)
				}
				return nil
			})
			if _, ok := reader.objects(t)[made.Name]; !ok {
				t.Errorf("%s is missing at the other", made.Name)
			}
			w.untilType(t, "ADDED", made.Name)
		}
		var g errgroup.Group
		for i := range 40 {
			g.Go(func() error {
				for end := time.Now().Add(3 * patience); ; {
					r := replicas[i%2].do(t, request{method: http.MethodPatch, path: infras + "/o0", kind: mergePatch, body: fmt.Sprintf(`{"metadata":{"labels":{"l%d":"x"}}}`, i)})
					switch {
					case r.status == http.StatusOK:
						return nil
					case r.status == http.StatusGatewayTimeout && time.Now().Before(end): // so many at one object, on a slow machine
					default:
						return fmt.Errorf("label: %d %s", r.status, r.body)
					}
				}
			})
		}
		g.Go(func() error {
			for i := range 20 {
				value, _ := a.get(t, "o0")
				value["description"] = fmt.Sprint(i)
				a.put(t, "o0", value)
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		for _, r := range replicas {
			if got := r.infra(t, "o0"); len(got.Labels) != 40 || got.Spec.Description != "19" {
				t.Errorf("%d labels, %q", len(got.Labels), got.Spec.Description)
			}
		}
		e.stop()
		second.setPhase(t, "o1", v1alpha1.PhaseDeployed)
		waitFor(t, "publishing by the one that is left", func() error { return contains(a.raw(t, "o1"), "deployed") })
		if err := second.client.Infras().Delete(t.Context(), "o2", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		second.settled(t)
		if err := second.agree(t); err != nil {
			t.Error(err)
		}
	})
}
