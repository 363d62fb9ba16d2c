//go:build e2e

package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// use of memory by one server, in bytes: of the machine's, and what lives on its heap and
// its stacks.
type use struct{ resident, live float64 }

// memory of both servers, and the size of etcd's database, of which each side's share
// is estimated by the bytes below its prefix.
type memory struct {
	ours, kube                 use
	database, ourKeys, crdKeys float64
}

// memory after a collection of the garbage.
func (e *env) memory(b *testing.B) (m memory) {
	b.Helper()
	m.ours = e.use(b, e.direct, plane.Replicas[0].Process().PID())
	m.kube = e.use(b, e.crd, plane.APIServer.PID())
	status, err := e.etcd.Status(b.Context(), plane.EtcdURL())
	require.NoError(b, err)
	m.database = float64(status.DbSizeInUse)
	m.ourKeys = e.keys(b, "/registry/socialweb.computer/")
	m.crdKeys = e.keys(b, "/registry/"+crdGroup+"/")
	return m
}

func (e *env) use(b *testing.B, s *side, pid int) use {
	b.Helper()
	_, err := s.do(b.Context(), "GET", "/debug/pprof/heap?gc=1", nil)
	require.NoError(b, err)
	m := e.metrics(b, s)
	return use{resident: rss(b, pid), live: m.sum("go_memstats_heap_alloc_bytes") + m.sum("go_memstats_stack_inuse_bytes")}
}

func rss(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	for l := range bytes.Lines(data) {
		if f := strings.Fields(string(l)); len(f) > 1 && f[0] == "VmRSS:" {
			n, err := strconv.Atoi(f[1])
			require.NoError(b, err)
			return float64(n << 10)
		}
	}
	b.Fatal("no VmRSS")
	return 0
}

// keys is the size of what is below a prefix of etcd, keys and values.
func (e *env) keys(b *testing.B, prefix string) float64 {
	b.Helper()
	resp, err := e.etcd.Get(b.Context(), prefix, clientv3.WithPrefix())
	require.NoError(b, err)
	n := 0
	for _, kv := range resp.Kvs {
		n += len(kv.Key) + len(kv.Value)
	}
	return float64(n)
}

// benchMemory compares what the servers grew by: until the objects were there, and
// until they had been listed many times.
func (e *env) benchMemory(b *testing.B, empty, full, listed memory) {
	n := float64(e.n)
	row := func(what string, ours, kube float64, where string) {
		add(b, measure.Row{
			What: fmt.Sprintf("%s, of %d objects", what, e.n), Ours: fmt.Sprintf("%s, %s an object", mib(ours), kib(ours/n)),
			Theirs: fmt.Sprintf("CRD: %s, %s an object", mib(kube), kib(kube/n)), Ratio: ours / kube, Goal: "—", Where: where,
		})
	}
	row("Live memory", full.ours.live-empty.ours.live, full.kube.live-empty.kube.live, "typed objects against maps in the watch cache, and its history")
	row("Resident memory once filled", full.ours.resident-empty.ours.resident, full.kube.resident-empty.kube.resident,
		fmt.Sprintf("the same, and room for garbage. In all %s (empty: %s), kube-apiserver %s (empty: %s)", mib(full.ours.resident), mib(empty.ours.resident), mib(full.kube.resident), mib(empty.kube.resident)))
	row("Resident memory after the lists", listed.ours.resident-empty.ours.resident, listed.kube.resident-empty.kube.resident,
		fmt.Sprintf("room for the lists' garbage. In all %s, kube-apiserver %s, which has passed our lists on as well", mib(listed.ours.resident), mib(listed.kube.resident)))
	row("Keys and values in etcd", full.ourKeys-empty.ourKeys, full.crdKeys-empty.crdKeys,
		"the object, its stamp and its uid. The database with both is "+mib(full.database))
}

func mib(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }

func kib(bytes float64) string { return fmt.Sprintf("%.1f KiB", bytes/(1<<10)) }
