//go:build e2e

package outage

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

func TestMain(m *testing.M) {
	// A profile collects the garbage before memory is measured.
	harness.Main(m, &plane, harness.Options{APIServerFlags: []string{"--profiling=true"}})
}
