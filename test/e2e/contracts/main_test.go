//go:build e2e

package contracts

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Accounts beside the owner of the default repository, each for a test of its own.
const (
	withdrawn    = "bob"
	raced        = "carol"
	enumerated   = "frank"
	deletedThere = "grace"
	mine         = "dave"
	theirs       = "erin"
	foreign      = "heidi"
)

// endings of collections, each with an account of its own.
var endings = map[string]string{"background": "ivan", "foreground": "judy", "orphan": "oscar"}

var plane *harness.Plane

func TestMain(m *testing.M) {
	// They wait far more than they work. (A flag on the command line wins.)
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	harness.Main(m, &plane, harness.Options{
		Controllers: 2,
		Accounts: append(slices.Collect(maps.Values(endings)),
			withdrawn, raced, mine, theirs, enumerated, deletedThere, foreign),
	})
}
