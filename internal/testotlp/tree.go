package testotlp

import (
	"slices"
	"strings"
)

// Tree says which spans are below which: "root > child > …", each once, sorted. Only
// spans whose names begin with one of the prefixes are named.
func Tree(spans []*Span, prefixes ...string) []string {
	byID := map[string]*Span{}
	for _, s := range spans {
		byID[string(s.SpanId)] = s
	}
	named := func(s *Span) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.Name, p) })
	}
	var out []string
	for _, s := range spans {
		if !named(s) {
			continue
		}
		path := []string{s.Name}
		for p := byID[string(s.ParentSpanId)]; p != nil; p = byID[string(p.ParentSpanId)] {
			if named(p) {
				path = append(path, p.Name)
			}
		}
		slices.Reverse(path)
		out = append(out, strings.Join(path, " > "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
