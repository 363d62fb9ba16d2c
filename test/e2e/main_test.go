//go:build e2e

package e2e

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

func TestMain(m *testing.M) { harness.Main(m, &plane, harness.Options{Accounts: []string{collected}}) }
