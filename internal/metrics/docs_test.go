package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md again")

const docs = "../../docs/metrics.md"

// table is what docs/metrics.md has between its marks.
func table() string {
	var b strings.Builder
	b.WriteString("| name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, e := range Catalog() {
		labels := ""
		if len(e.Labels) > 0 {
			labels = "`" + strings.Join(e.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Name, e.Type, labels, strings.ReplaceAll(e.Help, "<", "&lt;"))
	}
	return b.String()
}

// TestDocs: docs/metrics.md describes every metric, and no other. -update writes it.
func TestDocs(t *testing.T) {
	const begin, end = "<!-- metrics: written by go test ./internal/metrics -update -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks its marks", docs)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(before+begin+table()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table() {
		t.Errorf("%s is not what the metrics are: go test ./internal/metrics -update", docs)
	}
}
