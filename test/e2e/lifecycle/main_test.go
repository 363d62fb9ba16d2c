//go:build e2e

package lifecycle

import (
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

func TestMain(m *testing.M) {
	harness.Main(m, &plane, harness.Options{
		NoControllerManager: true,
		// Long after EndpointDelay: on a busy machine that takes longer.
		ReplicaFlags:  []string{"--shutdown-delay-duration=4s", "--shutdown-watch-termination-grace-period=2s"},
		EndpointDelay: 500 * time.Millisecond,
	})
}
