package socialweb

// EffectiveExecution is the execution policy that holds: the one that is named,
// else Follow with access ReadWrite and ObserveOnly with any other. Running
// contracts spends the server's account, so what can't be written isn't run
// unless somebody says so.
func (s *AtprotoRepoSpec) EffectiveExecution() ExecutionPolicy {
	switch {
	case s.Execution != "":
		return s.Execution
	case s.Access == AccessReadWrite:
		return ExecutionFollow
	default:
		return ExecutionObserveOnly
	}
}
