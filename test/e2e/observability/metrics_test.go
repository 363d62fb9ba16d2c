//go:build e2e

package observability

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// get asks a replica, as whoever c is.
func get(ctx context.Context, c *rest.Config, path string) (status int, body string, err error) {
	a, err := harness.Get(ctx, c, path)
	return a.Status, string(a.Body), err
}

// TestPrometheusReadsMetrics: the RBAC beside the ServiceMonitor lets Prometheus'
// account read /metrics, with all metrics of ours, and nothing else does.
func TestPrometheusReadsMetrics(t *testing.T) {
	t.Parallel()
	root, err := testkubectl.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(root, "artifacts", "monitoring", "servicemonitor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := slices.DeleteFunc(strings.Split(string(file), "\n---\n"), func(d string) bool {
		return strings.Contains(d, "\nkind: ServiceMonitor\n") // an operator's
	})
	if len(documents) != 2 {
		t.Fatalf("%q, want a ClusterRole and its binding", documents)
	}
	k := plane.Kubectl(t)
	k.RunIn(t, strings.Join(documents, "\n---\n"), "apply", "-f", "-")
	k.Run(t, "create", "namespace", "monitoring")
	token := func(account string) string {
		k.Run(t, "create", "serviceaccount", account, "-n", "monitoring")
		return strings.TrimSpace(k.Run(t, "create", "token", account, "-n", "monitoring"))
	}
	as := func(token string) *rest.Config {
		c := plane.Replicas[0].Direct(plane.Anonymous())
		c.BearerToken = token
		return c
	}
	prometheus, other := token("prometheus-k8s"), token("somebody")
	harness.Eventually(t, func(context.Context) error { // before the server asks, and remembers a no
		if r := k.Do(t, "", "auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:monitoring:prometheus-k8s"); r.Code != 0 {
			return fmt.Errorf("%s%s", r.Out, r.Err)
		}
		return nil
	})
	// What depends on a PDS's answers, on limits or on what they refused needn't be there.
	optional := []string{"infra_apiserver_pds_write_points_left", "infra_apiserver_workspace_limit", "infra_apiserver_workspace_refused_total"}
	harness.Eventually(t, func(ctx context.Context) error { // some come with the first look, or what is published first
		status, body, err := get(ctx, as(prometheus), "/metrics")
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, body, err)
		}
		for _, m := range metrics.Catalog() {
			if !strings.Contains(body, "# TYPE "+m.Name+" "+m.Type) && !slices.Contains(optional, m.Name) {
				return fmt.Errorf("/metrics lacks %s", m.Name)
			}
		}
		return nil
	})
	for who, c := range map[string]*rest.Config{"another account": as(other), "nobody": as("")} {
		if status, _, err := get(t.Context(), c, "/metrics"); err != nil || status != http.StatusForbidden {
			t.Errorf("%s gets %d %v", who, status, err)
		}
	}
	if status, _, err := get(t.Context(), as(prometheus), "/apis/socialweb.computer/v1alpha1/infras"); err != nil || status != http.StatusForbidden {
		t.Errorf("Prometheus gets %d %v of the infras", status, err)
	}
}
