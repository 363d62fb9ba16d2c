package devpds

// runCrashChild is the crash test's child process; see TestCrash.
func runCrashChild() bool { return false }
