//go:build e2e

package kubectl

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

func init() {
	run = func(m *testing.M) { harness.Main(m, &plane, harness.Options{NoControllerManager: true}) }
	servers = map[string]func(*testing.T) env{
		"aggregator": func(t *testing.T) env {
			t.Helper()
			return env{plane.Repo, plane.Kubectl(t)}
		},
	}
}
