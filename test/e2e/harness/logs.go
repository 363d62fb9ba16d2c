package harness

import (
	"os"
	"strings"
	"testing"
)

// Log is what a process has printed: "etcd", "kube-apiserver",
// "kube-controller-manager", or a Replica's name; of a replica that was started
// again, everything.
func (p *Plane) Log(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(p.file(name + ".log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Mark is where a log stands now; LogSince reads on from there.
func (p *Plane) Mark(t testing.TB, name string) int {
	t.Helper()
	return len(p.Log(t, name))
}

// LogSince are the lines of a log after a mark.
func (p *Plane) LogSince(t testing.TB, name string, mark int) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(p.Log(t, name)[mark:]), "\n")
}
