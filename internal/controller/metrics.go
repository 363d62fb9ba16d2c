package controller

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	workspacesGauge = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "infra_controller_workspaces",
		Help:           "Workspaces of the kcp by state: bound binds the APIExport, gone has objects here and doesn't bind it any more.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"state"})
	workspacesChecked = metrics.NewGauge(&metrics.GaugeOpts{
		Name:           "infra_controller_workspaces_checked_timestamp_seconds",
		Help:           "When all shards of the kcp last told which workspaces bind the APIExport. Nothing is concluded while they don't.",
		StabilityLevel: metrics.ALPHA,
	})
	registered sync.Once
)

// registerMetrics makes them part of the process's registry.
func registerMetrics() {
	registered.Do(func() { legacyregistry.MustRegister(workspacesGauge, workspacesChecked) })
}

func observeWorkspaces(bound, gone int, complete bool, now time.Time) {
	workspacesGauge.WithLabelValues("bound").Set(float64(bound))
	workspacesGauge.WithLabelValues("gone").Set(float64(gone))
	if complete {
		workspacesChecked.Set(float64(now.UnixNano()) / float64(time.Second))
	}
}
