package provider

// Finding is something that keeps kcp from serving our kinds.
type Finding struct {
	// Fault says what is missing or in the way, in one line.
	Fault string
	// Remedy says how to mend it.
	Remedy string
}

// Report of an Init.
type Report struct {
	// Faults, each of which keeps tenants from our kinds.
	Faults []Finding
	// Unknown is what could not be looked at: it may be as it must.
	Unknown []Finding
}

func (r *Report) fault(found ...Finding) { r.Faults = append(r.Faults, found...) }

func (r *Report) unknown(found ...Finding) { r.Unknown = append(r.Unknown, found...) }
