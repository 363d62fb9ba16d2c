package controller

import (
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
)

// Both states and both results are counted, from the start.
func TestWorkspaceMetrics(t *testing.T) {
	registerMetrics()
	registerMetrics() // of a second controller
	before, err := testutil.GetCounterMetricValue(workspaceRounds.WithLabelValues("incomplete"))
	if err != nil {
		t.Fatal(err)
	}
	observeWorkspaces(3, 1, false)
	want := `
# HELP infra_controller_workspaces [ALPHA] Workspaces of the kcp by state: bound binds the APIExport, gone has objects here and doesn't bind it any more.
# TYPE infra_controller_workspaces gauge
infra_controller_workspaces{state="bound"} 3
infra_controller_workspaces{state="gone"} 1
`
	if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want), "infra_controller_workspaces"); err != nil {
		t.Error(err)
	}
	after, err := testutil.GetCounterMetricValue(workspaceRounds.WithLabelValues("incomplete"))
	if err != nil || after != before+1 {
		t.Errorf("incomplete rounds: %v, were %v, %v", after, before, err)
	}
}
