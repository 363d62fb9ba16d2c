package measure

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Titles of the report's sections, in their order.
const (
	AgainstPDS  = "Against the PDS"
	Deployments = "Deployments"
	Workspaces  = "Workspaces"
	AgainstCRD  = "Against a CRD, through the aggregator"
)

var titles = []string{AgainstPDS, Deployments, Workspaces, AgainstCRD}

const head = `# Benchmarks

Written by ` + "`make bench`" + `. Each row compares things measured in one run, taking turns; times are medians. A ratio
below 1 means that ours is faster. Each section says when it was measured: either can be measured alone.
`

// Row of the report.
type Row struct {
	// What was measured, what our side and the other took.
	What, Ours, Theirs string
	// Ratio of the two.
	Ratio float64
	// Goal for the ratio: "≤ 1.3", with a remark if need be; "—": there is none.
	Goal string
	// Where the time goes.
	Where string
}

// Missed says whether the row has a goal that it doesn't reach. It judges what the
// report shows: two digits.
func (r Row) Missed() bool {
	limit, ok := r.limit()
	return ok && round2(r.Ratio) > limit
}

func (r Row) limit() (limit float64, ok bool) {
	_, err := fmt.Sscanf(r.Goal, "≤ %f", &limit)
	return limit, err == nil
}

func round2(f float64) float64 {
	var out float64
	_, _ = fmt.Sscan(fmt.Sprintf("%.2f", f), &out) // it was just written
	return out
}

// goal with whether it is met.
func (r Row) goal() string {
	switch _, ok := r.limit(); {
	case !ok:
		return r.Goal
	case r.Missed():
		return r.Goal + ": **missed**"
	default:
		return r.Goal + ": met"
	}
}

// Log tells of the row, in go's own output too.
func (r Row) Log(b *testing.B) {
	b.Helper()
	b.ReportMetric(r.Ratio, "ratio")
	b.ReportMetric(0, "ns/op")
	b.Logf("%s: ours %s, theirs %s, ratio %.2f (goal %s); %s", r.What, r.Ours, r.Theirs, r.Ratio, r.goal(), r.Where)
}

// Section of the report.
type Section struct {
	// Title is one of the constants.
	Title string
	// Intro says when and how it was measured.
	Intro string
	// Rows in their order.
	Rows []Row
	// Notes follow the table.
	Notes string
}

func (s *Section) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n%s\n\n", s.Title, strings.TrimSpace(s.Intro))
	out.WriteString("| what | ours | compared with | ratio | goal | where the time goes |\n|---|---|---|---|---|---|\n")
	for _, r := range s.Rows {
		fmt.Fprintf(&out, "| %s | %s | %s | %.2f | %s | %s |\n", r.What, r.Ours, r.Theirs, r.Ratio, r.goal(), r.Where)
	}
	if notes := strings.TrimSpace(s.Notes); notes != "" {
		fmt.Fprintf(&out, "\n%s\n", notes)
	}
	return out.String()
}

// Whole says whether this run measures all that its package can. What a part of it
// says would stand for the section.
func Whole() bool {
	f := flag.Lookup("test.bench")
	return f != nil && f.Value.String() == "."
}

// Write puts a section into the report at path, in place of what it said before. Other
// sections stay as they are. An error is the file system's.
func Write(path string, s *Section) error {
	path = filepath.Clean(path)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("report: %w", err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split("\n"+string(old), "\n## ")[1:] {
		title, _, _ := strings.Cut(part, "\n")
		sections[title] = "## " + strings.TrimSpace(part) + "\n"
	}
	sections[s.Title] = s.markdown()
	parts := []string{head}
	for _, title := range titles {
		if text, ok := sections[title]; ok {
			parts = append(parts, text)
		}
	}
	if !slices.Contains(titles, s.Title) {
		return fmt.Errorf("report: no section is called %q", s.Title)
	}
	if err := os.WriteFile(path, []byte(strings.Join(parts, "\n")), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
