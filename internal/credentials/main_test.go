package credentials

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The log of a dependency of indigo's.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"))
}
