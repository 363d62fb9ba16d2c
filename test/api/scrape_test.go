package api

import (
	"bufio"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// family is a metric as /metrics shows it.
type family struct {
	kind   string
	labels []string // their names, of all series
	series []series
}

type series struct {
	name   string // with _bucket, _sum or _count of a histogram
	labels map[string]string
	value  float64
}

// sum of the series whose labels are these, of a histogram the counts of
// observations.
func (f family) sum(labels map[string]string) (sum float64) {
	for _, s := range f.series {
		match := !strings.HasSuffix(s.name, "_bucket") && !strings.HasSuffix(s.name, "_sum")
		for k, v := range labels {
			match = match && s.labels[k] == v
		}
		if match {
			sum += s.value
		}
	}
	return sum
}

var (
	seriesLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?`)
)

// scrape reads /metrics.
func (s *server) scrape(t testing.TB) map[string]family {
	t.Helper()
	out := map[string]family{}
	current := ""
	for lines := bufio.NewScanner(strings.NewReader(s.must(t, request{path: "/metrics", accept: "text/plain"}).body)); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			current, out[name] = name, family{kind: kind}
			continue
		}
		m := seriesLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		one := series{name: m[1], labels: map[string]string{}, value: value}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			one.labels[pair[1]] = pair[2]
		}
		f := out[current]
		f.series = append(f.series, one)
		f.labels = slices.Compact(slices.Sorted(slices.Values(append(f.labels, slices.Collect(maps.Keys(one.labels))...))))
		out[current] = f
	}
	return out
}
