package testdev

import (
	"go.uber.org/goleak"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

// Main runs a package's tests and fails when a goroutine is left that isn't one
// of those that the libraries never end, or end seconds later by themselves.
func Main(m goleak.TestingM) {
	testleak.Main(m,
		// The log of a dependency of indigo's.
		goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"),
		// The generic API server's "log" health check, one a process.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/util/wait.BackoffUntilWithContext"),
		// A consistent read that was answered leaves its timer of 3 s behind.
		goleak.IgnoreTopFunction("k8s.io/apiserver/pkg/storage/cacher.(*watchCache).waitUntilFreshLocked.func2"),
	)
}
