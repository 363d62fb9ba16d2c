package controller

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	workspaceStates = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "infra_controller_workspaces",
		Help:           "Workspaces of the kcp by state: bound binds the APIExport, gone has objects here and doesn't bind it any more.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"state"})
	workspaceRounds = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "infra_controller_workspace_rounds_total",
		Help:           "How often the shards of the kcp were asked which workspaces bind the APIExport, by result: complete, or incomplete, of which nothing is concluded.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	registered sync.Once
)

// registerMetrics makes them part of the process's registry. They are there without a
// kcp too, so that an alert on them has something to look at.
func registerMetrics() {
	registered.Do(func() {
		legacyregistry.MustRegister(workspaceStates, workspaceRounds)
		for _, state := range []string{"bound", "gone"} {
			workspaceStates.WithLabelValues(state).Set(0)
		}
		for _, result := range []string{"complete", "incomplete"} {
			workspaceRounds.WithLabelValues(result).Add(0)
		}
	})
}

func observeWorkspaces(bound, gone int, complete bool) {
	workspaceStates.WithLabelValues("bound").Set(float64(bound))
	workspaceStates.WithLabelValues("gone").Set(float64(gone))
	result := "incomplete"
	if complete {
		result = "complete"
	}
	workspaceRounds.WithLabelValues(result).Inc()
}
