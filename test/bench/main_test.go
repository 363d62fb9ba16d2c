package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var reportPath = flag.String("report", "", "file to write the results to, as Markdown")

// results of the run, in the order in which they were measured.
var results []result

// result is one row of the report.
type result struct {
	what, ours, theirs, ratio, goal, where string
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	cleanUp()
	if code == 0 && *reportPath != "" && len(results) > 0 {
		if err := writeReport(*reportPath); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// add a row, and its ratio to go's own output.
func add(b *testing.B, r result, ratio float64) {
	b.Helper()
	r.ratio = fmt.Sprintf("%.2f", ratio)
	results = append(results, r)
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(0, "ns/op")
	b.Logf("%s: ours %s, theirs %s, ratio %s (goal %s)", r.what, r.ours, r.theirs, r.ratio, r.goal)
}

func writeReport(path string) error {
	var s strings.Builder
	fmt.Fprintf(&s, "# Benchmarks\n\nWritten by `make bench` on %s: %s, %d cores, reference PDS (npm `@atproto/pds`) on loopback with one\naccount, server `infra-apiserver dev --pds`. Each row compares two things measured in one run, taking turns; times are\nmedians. A ratio below 1 means that ours is faster.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU())
	s.WriteString("| what | ours | compared with | ratio | goal | where the time goes |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s | %s |\n", r.what, r.ours, r.theirs, r.ratio, r.goal, r.where)
	}
	return os.WriteFile(filepath.Clean(path), []byte(s.String()), 0o644)
}
