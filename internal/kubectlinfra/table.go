package kubectlinfra

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// gap between columns, as kubectl has it.
const gap = 3

// table writes rows in columns. Rows may end early, and no line ends in spaces.
func table(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]+gap-utf8.RuneCountInString(cell)))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
