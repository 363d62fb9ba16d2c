//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// The processes are what they should be: alive, each with its log, and in a group of
// its own.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for log, p := range map[string]*harness.Process{
		"etcd": plane.Etcd, "kube-apiserver": plane.APIServer, "kube-controller-manager": plane.ControllerManager,
	} {
		if pgid, err := syscall.Getpgid(p.PID()); err != nil || pgid != p.PID() {
			t.Errorf("%s: process group %d, %v", log, pgid, err)
		}
		if plane.Log(t, log) == "" {
			t.Errorf("%s logs nothing", log)
		}
	}
	if !strings.Contains(plane.Log(t, plane.Replicas[0].Name), "Serving securely") {
		t.Error("the replica's log doesn't say that it serves")
	}
}
