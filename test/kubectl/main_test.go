package kubectl

import (
	"os"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testdev"
)

// run is TestMain: of a control plane with the build tag e2e.
var run = testdev.Main

func TestMain(m *testing.M) {
	if code, called := plugin(); called {
		os.Exit(code)
	}
	run(m)
}
