//go:build soak

package soak

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

// How long each case takes.
var (
	quiet    = flag.Duration("quiet", 6*time.Minute, "how long nobody writes before a quota has to become usable")
	load     = flag.Duration("load", 7*time.Minute, "how long 100 writes a second go to 1,000 watches: three times what the history of the watches keeps")
	watches  = flag.Int("watches", 1000, "how many watches there are under load, and how many are opened and closed")
	idle     = flag.Duration("idle", 2*time.Hour, "how long memory is looked at while nothing happens")
	interval = flag.Duration("interval", time.Minute, "how often memory is looked at")
)

func TestMain(m *testing.M) {
	// A profile collects the garbage before memory is measured.
	harness.Main(m, &plane, harness.Options{APIServerFlags: []string{"--profiling=true"}})
}

// row logs a row of the table of figures.
func row(t *testing.T, what, format string, args ...any) {
	t.Helper()
	t.Logf("| %-44s | %s |", what, fmt.Sprintf(format, args...))
}
