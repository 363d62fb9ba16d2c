package metrics

import (
	"time"

	"k8s.io/component-base/metrics"
)

var (
	lagSeconds = gauge("ingest_lag_seconds",
		"For how long the views of a repository have been behind what is known of it; 0 when they are not.", "workspace", "atprotorepo")
	lagRevs = gauge("ingest_lag_revs",
		"By how many known commits the views of a repository are behind it; 1 where their number is not known.", "workspace", "atprotorepo")
	reachable = gauge("repository_reachable",
		"Whether the PDS of a repository answered the last call (1) or not (0).", "workspace", "atprotorepo")
	streaming = gauge("repository_streaming",
		"Whether the event source of a repository is connected (1) or not (0).", "workspace", "atprotorepo")
	pointsLeft = gauge("pds_write_points_left",
		"Write points that the PDS says are left to the account in its tightest window; absent where it has not said so in this window.", "workspace", "atprotorepo")
	repositories = gauge("repositories",
		"Repositories that AtprotoRepos name: mounted, or waiting because they can't be mounted yet.", "state")
	intents = gauge("intents_pending",
		"Open intents in etcd, those whose writer may be at work (live) and those whose writer is gone (expired). Every replica tells the same.", "state")
	publishing = gauge("publisher_leading",
		"Whether this replica is the one that publishes statuses (1) or not (0).")
	unpublished = gauge("publisher_pending",
		"Objects that the publisher has yet to look at, or to try again; 0 on replicas that don't publish.")
	oldestUnpublished = gauge("publisher_oldest_pending_seconds",
		"For how long the first of the objects in publisher_pending has waited.")
	certificate = gauge("serving_certificate_expiration_timestamp_seconds",
		"When the serving certificate in use ends, in seconds since the epoch; absent without one.")
)

// collector tells states.
type collector struct{ metrics.BaseStableCollector }

var _ metrics.StableCollector = (*collector)(nil)

func newCollector() *collector { return &collector{} }

// DescribeWithStability implements metrics.StableCollector.
func (*collector) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{
		lagSeconds, lagRevs, reachable, streaming, pointsLeft, repositories, intents, publishing, unpublished, oldestUnpublished, certificate,
		workspaceObjects, workspaceBytes, workspaceLimit,
	} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (*collector) CollectWithStability(ch chan<- metrics.Metric) {
	tell := func(d *metrics.Desc, v float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, v, labels...)
	}
	s, mounted := current()
	for _, r := range s.Repositories {
		tell(lagSeconds, r.Lag.Seconds(), r.Workspace, r.Name)
		tell(lagRevs, float64(r.LagRevs), r.Workspace, r.Name)
		tell(reachable, number(r.Reachable), r.Workspace, r.Name)
		tell(streaming, number(r.Streaming), r.Workspace, r.Name)
		if r.WritePointsKnown {
			tell(pointsLeft, float64(r.WritePoints), r.Workspace, r.Name)
		}
	}
	tell(repositories, float64(mounted), "mounted")
	tell(repositories, float64(s.Waiting), "waiting")
	tell(intents, float64(s.IntentsLive), "live")
	tell(intents, float64(s.IntentsExpired), "expired")
	tell(publishing, number(s.Publishing))
	tell(unpublished, float64(s.Unpublished))
	tell(oldestUnpublished, s.OldestUnpublished.Seconds())
	for label, w := range workspaces(time.Now()) {
		tell(workspaceObjects, float64(w.Objects), label)
		tell(workspaceBytes, float64(w.Bytes), label)
	}
	for name, n := range workspaceLimits() {
		tell(workspaceLimit, n, name)
	}
	if end := certificateEnd(); !end.IsZero() {
		tell(certificate, float64(end.Unix()))
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
