package kubectl

import (
	"os"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testdev"
)

// run is TestMain: of a control plane with the build tag e2e.
var run = func(m *testing.M) { testdev.Main(m) }

func TestMain(m *testing.M) {
	if code, called := plugin(); called {
		os.Exit(code)
	}
	run(m)
}
