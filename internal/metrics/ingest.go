package metrics

import "strings"

var (
	ingestEvents = counter("ingest_events_total",
		"Events that the event sources delivered: Commit, Gap or Account.", "kind")
	resyncs = counter("ingest_resyncs_total",
		"Comparisons of a whole repository with its views, by why: first_connect, consistent_read, missed_event, stream (it was interrupted or could not be read), sync (the repository was replaced), unverified (a commit does not verify), poll (the event source only polls), full (too many events in line), other.", "reason")
	decodeErrors = counter("record_decode_errors_total",
		"Records read that are not valid as an object of their kind. They are neither hidden nor overwritten.", "collection")
)

// IngestEvent counts an event by its kind, one of package events.
func IngestEvent(kind string) { ingestEvents.WithLabelValues(kind).Inc() }

// DecodeError counts a record that is not valid, by its collection, one of ours.
func DecodeError(collection string) { decodeErrors.WithLabelValues(collection).Inc() }

// ConsistentRead is the reason of a comparison that a consistent read asked for.
const ConsistentRead = "consistent read"

// gaps tell what a gap's reason, which is text for people, counts as. The first
// that is in it counts.
var gaps = []struct{ part, label string }{
	{ConsistentRead, "consistent_read"},
	{"first connect", "first_connect"},
	{"subscribed", "first_connect"},
	{"does not verify", "unverified"},
	{"#sync", "sync"},
	{"line of events is full", "full"},
	{"missed", "missed_event"},
	{"missing", "missed_event"},
	{"too big", "missed_event"},
	{"connect", "stream"},
	{"Cursor", "stream"},
	{"Consumer", "stream"},
	{"decode", "stream"},
	{"stream", "stream"},
	{"unbelievable", "unverified"},
	{"moved on", "poll"},
}

// Resync counts a comparison, by the reason of its gap.
func Resync(reason string) { resyncs.WithLabelValues(resyncReason(reason)).Inc() }

func resyncReason(reason string) string {
	for _, g := range gaps {
		if strings.Contains(reason, g.part) {
			return g.label
		}
	}
	return "other"
}
