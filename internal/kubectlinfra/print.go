package kubectlinfra

import (
	"fmt"
	"io"
	"slices"
)

func (f *forest) print(w io.Writer) error {
	rows := [][]string{{"NAME", "STATE", "PHASE", "READY", "AGE", "DETAIL"}}
	for _, t := range f.trees {
		rows = appendRows(rows, t, "", "")
	}
	if err := table(w, rows); err != nil {
		return err
	}
	notes := f.notes
	if f.unserved != "" {
		notes = append(slices.Clone(notes), f.unserved)
	}
	if len(notes) > 0 {
		notes = append([]string{""}, notes...)
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

// appendRows draws a node and what is below it: head leads its own line, lead the
// lines of its children.
func appendRows(rows [][]string, n *node, head, lead string) [][]string {
	rows = append(rows, []string{head + n.name, n.state, n.phase, n.ready, n.age, n.detail})
	for i, c := range n.children {
		branch, next := "├─", "│ "
		if i == len(n.children)-1 {
			branch, next = "└─", "  "
		}
		rows = appendRows(rows, c, lead+branch, lead+next)
	}
	return rows
}
