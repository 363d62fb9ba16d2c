package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
)

// rounds is how often something is done that must leave nothing behind: few, unless
// the tier of long tests runs (make soak sets INFRA_SOAK).
func rounds(few, many int) int {
	if os.Getenv("INFRA_SOAK") != "" {
		return many
	}
	return few
}

// The tests here count what the whole process has, so that no other test may run
// beside them.

// count of the series, the buckets of a histogram as one.
func (f family) count() (n int) {
	for _, s := range f.series {
		if !strings.HasSuffix(s.name, "_bucket") {
			n++
		}
	}
	return n
}

// TestProbesMakeNoSeries: however often the server is asked whether it is well, no
// metric grows by it.
func TestProbesMakeNoSeries(t *testing.T) {
	e := newEnv(t, onEmbedded(t))
	probe := func(times int) {
		for range times {
			for _, path := range []string{"/livez", "/readyz", "/healthz", "/readyz?verbose", "/readyz/etcd", "/metrics"} {
				e.must(t, request{path: path, accept: "text/plain"})
			}
		}
	}
	e.createSettled(t, newInfra("a", "x"))
	probe(5)
	before := e.scrape(t)
	n := rounds(50, 2000)
	probe(n)
	after := e.scrape(t)
	for name, f := range after {
		// What else goes on meanwhile may make some that were not there yet.
		if grown := f.count() - before[name].count(); grown >= n {
			t.Errorf("%s has %d more series after %d probes", name, grown, n)
		}
	}
}

// TestWatchesLeaveNothing: watches that were opened and closed leave no goroutine.
func TestWatchesLeaveNothing(t *testing.T) {
	e := newEnv(t, onEmbedded(t))
	e.createSettled(t, newInfra("a", "x"))
	rv := e.rv(t)
	open := func(n int) {
		for i := range n {
			ctx, cancel := context.WithCancel(t.Context())
			query := []string{"?watch=1&resourceVersion=" + rv, "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"}[i%2]
			resp, err := e.open(ctx, request{path: infras + query})
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("watch %d: %v %v", i, resp, err)
			}
			cancel()
			_ = resp.Body.Close()
		}
	}
	open(20)
	var before int
	stable := 0
	waitFor(t, "a number of goroutines that stays", func() error {
		now := runtime.NumGoroutine()
		if stable++; now != before {
			before, stable = now, 0
		}
		if stable < 20 {
			return fmt.Errorf("%d goroutines", now)
		}
		return nil
	})
	n := rounds(200, 1000)
	open(n)
	waitFor(t, "the end of the watches", func() error {
		if now := runtime.NumGoroutine(); now > before+20 {
			return fmt.Errorf("%d goroutines after %d watches, %d before", now, n, before)
		}
		return nil
	})
}
