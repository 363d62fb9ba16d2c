package usage

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

// TestCounts: objects are counted wherever they lie, and nothing else is; what changed
// while nobody looked is seen again.
func TestCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{}, nil)
	w.put("/views/infras/one/a", 100)
	w.put("/views/infras/one/b", 10)
	w.put("/atprotorepos/one/a", 1)
	w.put("/views/infras/two/a", 5)
	for _, other := range []string{"/uids/infras/one/did:x/a", "/fences/one/did:x", "/intents/infras/one/a/b", "/views/infras/one", "/atprotoreposx/one/a", "/views/infras/one/a/b"} {
		w.put(other, 1000)
	}
	stop := w.start()
	w.has("one", 3, 111)
	w.has("two", 1, 5)
	w.put("/views/infras/one/a", 50)
	w.put("/views/infras/three/a", 7)
	w.remove("/views/infras/two/a")
	w.has("one", 3, 61)
	w.has("two", 0, 0)
	w.has("three", 1, 7)
	stop()
	w.remove("/views/infras/one/b")
	w.remove("/views/infras/three/a")
	w.put("/atprotorepos/one/a", 2)
	w.put("/atprotorepos/four/a", 4)
	w.start() // from what it knows, as after a compaction
	w.has("one", 2, 52)
	w.has("three", 0, 0)
	w.has("four", 1, 4)
	w.until("no account without objects", func() bool { return len(w.accounts) == 2 })
	if got := fmt.Sprint(len(w.observe())); got != "2" {
		t.Errorf("%s workspaces are told", got)
	}
}

// TestCompacted: a watch that has missed something makes the tracker read again. It runs
// alone: what it compacts is the history of all.
func TestCompacted(t *testing.T) {
	w := newWorld(t, Limits{}, nil)
	p := w.places[0]
	w.put("/views/infras/one/a", 1)
	old, err := w.list(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	w.put("/views/infras/one/b", 1)
	now := w.remove("/views/infras/one/a")
	if _, err := etcd.Compact(t.Context(), now, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if err := w.watch(t.Context(), p, old); err == nil {
		t.Fatal("a watch from a revision that is compacted goes on")
	}
	w.start()
	w.has("one", 1, 1)
}

// TestManyPages: more objects than one answer of etcd has are counted, each once.
func TestManyPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{}, nil)
	for i := range 1203 {
		w.put(fmt.Sprintf("/views/infras/ws-%d/a%d", i%3, i), 2)
	}
	w.start()
	for i := range 3 {
		w.has(fmt.Sprintf("ws-%d", i), 401, 802)
	}
}

// BenchmarkTracker10000 is what it takes to begin with 10,000 objects of 2 KiB in 1,000
// workspaces.
func BenchmarkTracker10000(b *testing.B) {
	w := newWorld(b, Limits{}, nil)
	for i := range 10_000 {
		w.put(fmt.Sprintf("/views/infras/workspace-%d/a-deployment-%d", i%1000, i), 2048)
	}
	b.ResetTimer()
	var kept float64
	for range b.N {
		w.Tracker = nil
		before := heap()
		w.again(Limits{Objects: 1}, nil)
		if _, err := w.list(b.Context(), w.places[0]); err != nil {
			b.Fatal(err)
		}
		kept = heap() - before
	}
	b.ReportMetric(kept/10_000, "B-heap/object")
	if objects, _ := w.accounts["workspace-7"].used(w.clock.Now()); objects != 10 {
		b.Errorf("%d objects", objects)
	}
}
