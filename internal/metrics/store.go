package metrics

import "time"

var (
	swapConflicts = counter("pds_swap_conflicts_total",
		"Writes of a record whose swap was not met, since the record had been changed elsewhere.", "resource", "operation")
	recordWrites = counter("record_writes_total",
		"Writes of a record by what became of them, swap conflicts left out: committed, unknown (no answer came), refused.", "resource", "operation", "result")
	transactions = counter("view_transactions_total",
		"Transactions on views, intents and fences in etcd by what became of them: committed, moved (what it compares had changed), failed.", "resource", "operation", "result")
	barrierWaits = histogram("barrier_wait_duration_seconds",
		"Time for which a consistent read waited until the views of its workspace were as new as its repositories: ok or failed.",
		[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "result")
	catchUps = counter("barrier_catchups_total",
		"How the views of a repository came up to its head for a consistent read: current (they had), events, catch_up (asked the event source), comparison, failed.", "by")
	settled = counter("intents_settled_total",
		"Intents of writers that did not finish, settled by others: rolled_forward or dropped.", "outcome")
)

// operations are those of a write.
var operations = []string{"create", "update", "delete"}

// Kind makes the counters of a record-backed kind exist, at zero: what has never
// happened can be told from what isn't counted then.
func Kind(resource, collection string) {
	decodeErrors.WithLabelValues(collection)
	for _, op := range operations {
		swapConflicts.WithLabelValues(resource, op)
		for _, result := range []string{WriteCommitted, WriteUnknown, WriteRefused} {
			recordWrites.WithLabelValues(resource, op, result)
		}
	}
	for _, op := range []string{"look", "putView", "deleteView"} {
		for _, result := range []string{"committed", "moved", "failed"} {
			transactions.WithLabelValues(resource, op, result)
		}
	}
}

// begin makes the counters whose labels are known exist, at zero.
func begin() {
	for _, reason := range []string{RefusedHost, RefusedAccount, RefusedRate} {
		pdsRefusals.WithLabelValues(reason)
	}
	for _, by := range []CatchUp{CatchUpCurrent, CatchUpEvents, CatchUpAsked, CatchUpCompared, CatchUpFailed} {
		catchUps.WithLabelValues(string(by))
	}
	for _, outcome := range []string{"dropped", "rolled_forward"} {
		settled.WithLabelValues(outcome)
	}
	for _, result := range []string{"ok", "failed"} {
		barrierWaits.WithLabelValues(result)
	}
	for _, result := range []string{"published", "failed"} {
		publisherWrites.WithLabelValues(result)
	}
	for _, kind := range []string{"Commit", "Gap", "Account"} {
		ingestEvents.WithLabelValues(kind)
	}
	resyncs.WithLabelValues("other")
	for _, g := range gaps {
		resyncs.WithLabelValues(g.label)
	}
	publisherCoalesced.WithLabelValues()
	for _, why := range doorReasons {
		doorRefusals.WithLabelValues(string(why))
	}
}

// SwapConflict counts a write whose swap was not met.
func SwapConflict(resource, operation string) {
	swapConflicts.WithLabelValues(resource, operation).Inc()
}

// Results of a write of a record.
const (
	// WriteCommitted: the PDS has it.
	WriteCommitted = "committed"
	// WriteUnknown: it was sent and its answer was lost.
	WriteUnknown = "unknown"
	// WriteRefused: nothing was written.
	WriteRefused = "refused"
)

// RecordWrite counts a write of a record by one of the results above.
func RecordWrite(resource, operation, result string) {
	recordWrites.WithLabelValues(resource, operation, result).Inc()
}

// Transaction counts a transaction in etcd. succeeded tells whether its compares
// held.
func Transaction(resource, operation string, succeeded bool, err error) {
	result := "committed"
	switch {
	case err != nil:
		result = "failed"
	case !succeeded:
		result = "moved"
	}
	transactions.WithLabelValues(resource, operation, result).Inc()
}

// BarrierWait notes how long a consistent read waited.
func BarrierWait(took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	barrierWaits.WithLabelValues(result).Observe(took.Seconds())
}

// CatchUp says how the views of a repository came up to its head.
type CatchUp string

const (
	// CatchUpCurrent: they had reached it.
	CatchUpCurrent CatchUp = "current"
	// CatchUpEvents: the event source brought it.
	CatchUpEvents CatchUp = "events"
	// CatchUpAsked: the event source was asked for what it had not announced.
	CatchUpAsked CatchUp = "catch_up"
	// CatchUpCompared: the repository was compared.
	CatchUpCompared CatchUp = "comparison"
	// CatchUpFailed: they have not.
	CatchUpFailed CatchUp = "failed"
)

// CaughtUp counts one bringing up of a repository's views.
func CaughtUp(by CatchUp) { catchUps.WithLabelValues(string(by)).Inc() }

// IntentSettled counts an intent that somebody else than its writer ended.
func IntentSettled(rolledForward bool) {
	outcome := "dropped"
	if rolledForward {
		outcome = "rolled_forward"
	}
	settled.WithLabelValues(outcome).Inc()
}
