package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// RSS is how much memory a process has, in bytes.
func (p *Process) RSS(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("VmRSS of %s: %v", p.name, err)
	}
	return kib << 10
}

// rss of the replicas together, and of kube-apiserver.
func (p *Plane) rss(t testing.TB) (replicas, apiServer int64) {
	t.Helper()
	for _, r := range p.Replicas {
		replicas += r.Process().RSS(t)
	}
	return replicas, p.APIServer.RSS(t)
}
