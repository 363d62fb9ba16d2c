package events

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no source leaves a goroutine behind.
func TestMain(m *testing.M) {
	// A dependency of indigo starts this one when the program starts.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"))
}
