package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
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

// Memory of a server, in bytes.
type Memory struct {
	// Resident is what the machine has given it, with room for garbage and with what it
	// has not given back.
	Resident int64
	// Live is what is on its heap after a collection, and its stacks.
	Live int64
}

// PlaneMemory is that of both replicas together, and of kube-apiserver.
type PlaneMemory struct {
	Replicas, APIServer Memory
	// History is how many changes of infras the watch caches of the replicas keep at
	// most, for watches that begin in the past: those of 75 seconds, and up to twice as
	// many.
	History int64
}

// Minus is the growth since an earlier time.
func (m PlaneMemory) Minus(o PlaneMemory) PlaneMemory {
	minus := func(a, b Memory) Memory { return Memory{a.Resident - b.Resident, a.Live - b.Live} }
	return PlaneMemory{minus(m.Replicas, o.Replicas), minus(m.APIServer, o.APIServer), m.History - o.History}
}

// String is a cell of a table.
func (m PlaneMemory) String() string {
	return fmt.Sprintf("replicas %s, kube-apiserver %s, history %+d", m.Replicas, m.APIServer, m.History)
}

// String is a growth.
func (m Memory) String() string {
	return fmt.Sprintf("%+.1f MiB live, %+.1f MiB resident", float64(m.Live)/(1<<20), float64(m.Resident)/(1<<20))
}

// Memory of the servers, after a collection of the garbage.
func (p *Plane) Memory(t testing.TB) (m PlaneMemory) {
	t.Helper()
	for _, r := range p.Replicas {
		of, text := p.memory(t, r.Direct(p.Config()), r.Process())
		m.Replicas.Resident += of.Resident
		m.Replicas.Live += of.Live
		m.History += int64(Metric(text, "watch_cache_capacity", `resource="infras"`))
	}
	m.APIServer, _ = p.memory(t, p.Config(), p.APIServer)
	return m
}

// memory of one server, and its metrics then.
func (p *Plane) memory(t testing.TB, c *rest.Config, process *Process) (m Memory, text string) {
	t.Helper()
	if _, err := get(t.Context(), c, "/debug/pprof/heap?gc=1"); err != nil {
		t.Fatal(err)
	}
	text, err := get(t.Context(), c, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	live := Metric(text, "go_memstats_heap_alloc_bytes") + Metric(text, "go_memstats_stack_inuse_bytes")
	return Memory{Resident: process.RSS(t), Live: int64(live)}, text
}
