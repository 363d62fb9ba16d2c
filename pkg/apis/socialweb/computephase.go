package socialweb

// Rank of the phase in the order in which a ComputeContract goes through them: it
// never goes to a lower one. Released and Failed share the last. -1: there is no such
// phase.
func (p ComputeContractPhase) Rank() int {
	switch p {
	case "", ComputePending:
		return 0
	case ComputeRequesting:
		return 1
	case ComputeHeld:
		return 2
	case ComputeReleasing:
		return 3
	case ComputeReleased, ComputeFailed:
		return 4
	}
	return -1
}

// Finished tells whether the phase is final: nothing of the contract runs.
func (p ComputeContractPhase) Finished() bool {
	return p == ComputeReleased || p == ComputeFailed
}
