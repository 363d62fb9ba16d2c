package metrics

var (
	publisherWrites = counter("publisher_writes_total",
		"Statuses that were to be put into their records, by what became of the put: published or failed (it is tried again).", "result")
	publisherCoalesced = counter("publisher_coalesced_total",
		"Changes of objects that were collected with an earlier one of the same object, and cost no write of their own.")
)

// Published counts a write of a status into its record.
func Published(ok bool) {
	result := "published"
	if !ok {
		result = "failed"
	}
	publisherWrites.WithLabelValues(result).Inc()
}

// Coalesced counts a change that shares the write of an earlier one.
func Coalesced() { publisherCoalesced.WithLabelValues().Inc() }
