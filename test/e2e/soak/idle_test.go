//go:build soak

package soak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Watches that were opened and closed leave no goroutine behind
// (kubernetes/kubernetes#126918).
func TestWatchesLeaveNothing(t *testing.T) {
	name := plane.Infra(t)
	infras := plane.Admin().Infra.SocialwebV1alpha1().Infras()
	list, err := infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := goroutines(t)
	for range *watches {
		w, err := infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, FieldSelector: "metadata.name=" + name})
		if err != nil {
			t.Fatal(harness.Explain(err))
		}
		w.Stop()
	}
	after := 0
	harness.Eventually(t, func(context.Context) error {
		if after = goroutines(t); after > before+before/10 {
			return fmt.Errorf("%d goroutines, %d before", after, before)
		}
		return nil
	})
	row(t, "goroutines of both replicas", "%d, and %d after %d watches", before, after, *watches)
}

func goroutines(t *testing.T) int {
	t.Helper()
	return int(total(t, "go_goroutines"))
}

// An idle server doesn't grow, though it is probed 20 times a second, which the harness
// does (projectcalico/calico#8383). The first quarter is left out: caches fill then, and what happens now and then has
// its first series.
func TestIdle(t *testing.T) {
	plane.Infra(t)
	tick := time.NewTicker(*interval)
	defer tick.Stop()
	begin := time.Now()
	var before map[string]int
	var hours, mib []float64
	held := map[string][]float64{}
	for time.Since(begin) < *idle {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended")
		case <-tick.C:
		}
		if time.Since(begin) > *idle/4 {
			if len(mib) == 0 {
				before = series(t)
			}
			hours = append(hours, time.Since(begin).Hours())
			mib = append(mib, rss(t))
			for _, name := range memory {
				held[name] = append(held[name], total(t, name)/(1<<20))
			}
		}
	}
	after := series(t)
	row(t, "idle", "%s, %d samples", *idle, len(mib))
	if len(mib) < 2 {
		t.Fatal("too few samples: -interval is too long for -idle")
	}
	slope := slopeOf(hours, mib)
	row(t, "memory of both replicas, first and last", "%.1f MiB, %.1f MiB", mib[0], mib[len(mib)-1])
	row(t, "slope", "%+.2f MiB an hour", slope)
	for _, name := range memory {
		row(t, name, "%.1f MiB, %+.2f MiB an hour", held[name][len(held[name])-1], slopeOf(hours, held[name]))
	}
	row(t, "metric series of both replicas", "%d, and %d", sumOf(before), sumOf(after))
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if n := after[name] - before[name]; n != 0 {
			row(t, "series of "+name, "%+d", n)
		}
	}
	if *idle >= time.Hour && slope > 1 {
		t.Errorf("memory grows by %.2f MiB an hour", slope)
	}
	if is, was := sumOf(after), sumOf(before); is > was+was/20 {
		t.Errorf("%d metric series, %d before", is, was)
	}
}

// memory is what the runtime says of where the memory of a replica is.
var memory = []string{"go_memstats_heap_inuse_bytes", "go_memstats_stack_inuse_bytes", "go_memstats_heap_idle_bytes", "go_memstats_heap_released_bytes"}

func rss(t *testing.T) float64 {
	t.Helper()
	sum := int64(0)
	for _, r := range plane.Replicas {
		sum += r.Process().RSS(t)
	}
	return float64(sum) / (1 << 20)
}

// series is how many series each metric of the replicas has.
func series(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range plane.Replicas {
		for line := range strings.Lines(metrics(t, r)) {
			if name, _, ok := strings.Cut(strings.Replace(line, "{", " ", 1), " "); ok && name != "#" {
				n[name]++
			}
		}
	}
	return n
}

func sumOf(series map[string]int) int {
	sum := 0
	for _, n := range series {
		sum += n
	}
	return sum
}

// total is a metric summed over the replicas.
func total(t *testing.T, name string) float64 {
	t.Helper()
	sum := 0.0
	for _, r := range plane.Replicas {
		sum += harness.Metric(metrics(t, r), name)
	}
	return sum
}

func metrics(t *testing.T, r *harness.Replica) string {
	t.Helper()
	text, err := plane.Metrics(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// slopeOf is that of the line with the least squares.
func slopeOf(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
