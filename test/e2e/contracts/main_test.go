//go:build e2e

package contracts

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Accounts beside the owner of the default repository, each for a test of its own.
const (
	withdrawn = "bob"
	raced     = "carol"
)

var plane *harness.Plane

func TestMain(m *testing.M) {
	harness.Main(m, &plane, harness.Options{Accounts: []string{withdrawn, raced}})
}
