//go:build soak

package soak

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// 1,000 watches of which one never reads, and 100 writes a second: nobody else slows,
// and memory stays bounded (mckinsey/agents-at-scale-ark#2683): by what the watches
// take, and the objects of the watch caches' history. That keeps 75 seconds, so its
// length stays within twice as many writes, or four times where a slow machine makes
// them in bursts.
func TestLoad(t *testing.T) {
	const rate, objects, payload = 100, 100, 4 << 10
	o := harness.LoadOptions{Objects: objects, Watches: *watches, Writes: int(load.Seconds() * rate), Rate: rate, Payload: payload}
	f := plane.Load(t, o)
	row(t, "writes", "%d of metadata in %s, %d asked for a second", len(f.Write), f.Took, rate)
	row(t, "write p50, p99", "%s, %s", harness.Percentile(f.Write, 50), harness.Percentile(f.Write, 99))
	row(t, "events", "%d to %d watches", len(f.Event), o.Watches)
	row(t, "write sent to event p50, p99, max", "%s, %s, %s", harness.Percentile(f.Event, 50), harness.Percentile(f.Event, 99), harness.Percentile(f.Event, 100))
	row(t, "the watch that never reads got", "%d of %d events", f.Slow, o.Writes)
	row(t, "memory of the watches", "%s", f.Opened)
	row(t, "a watch, live", "replicas %d KiB, kube-apiserver %d KiB", f.Opened.Replicas.Live>>10/int64(o.Watches), f.Opened.APIServer.Live>>10/int64(o.Watches))
	row(t, "the first third of the writes", "%s", f.Third)
	row(t, "the rest of them", "%s", f.End)
	row(t, "history of both replicas", "%d changes", f.Total.History)
	if longest := int64(2 * 4 * 75 * rate); f.Total.History > longest {
		t.Errorf("the histories are %d changes, want %d at most", f.Total.History, longest)
	}
	const others = 8 << 10 // of an object, beside the payload
	if grew, most := f.Third.Replicas.Live+f.End.Replicas.Live, f.Total.History*(payload+others)+32<<20; grew > most {
		t.Errorf("the writes made the replicas' memory grow by %d bytes; their histories explain %d", grew, most)
	}
	if each := f.Opened.Replicas.Live / int64(o.Watches); each > 128<<10 {
		t.Errorf("a watch takes %d bytes", each)
	}
	if o.Writes*payload > 10<<20 && f.Slow == o.Writes {
		t.Error("the watch that never reads was never closed")
	}
}
