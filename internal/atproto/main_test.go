package atproto

import (
	"testing"

	"go.uber.org/goleak"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

// TestMain checks that no test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// A dependency of indigo starts this one when the program starts.
	testleak.Main(m, goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"))
}
