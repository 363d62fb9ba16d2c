//go:build e2e

package deploy

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

func TestMain(m *testing.M) { harness.Main(m, &plane, harness.Options{Replicas: 1, NoRepo: true}) }
