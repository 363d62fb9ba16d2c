package credentials

import (
	"testing"

	"go.uber.org/goleak"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) {
	// The log of a dependency of indigo's.
	testleak.Main(m, goleak.IgnoreTopFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"))
}
