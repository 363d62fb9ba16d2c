package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// How much of what is wrong with a record is told. It goes into a condition.
const (
	// maxFaults are told, the others counted.
	maxFaults = 5
	// maxFault bounds one of them, and maxValue a value, in bytes.
	maxFault, maxValue = 400, 80
)

// mergeFaults is everything that is wrong, in the order of the record. shape tells
// what has the wrong type: the API's rules judged something empty there, or below
// it, and have no say.
func mergeFaults(shape, rules field.ErrorList) field.ErrorList {
	out := slices.Clone(shape)
	for _, e := range rules {
		if !slices.ContainsFunc(shape, func(s *field.Error) bool { return covers(s.Field, e.Field) }) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *field.Error) int { return comparePaths(a.Field, b.Field) })
	return out
}

// covers tells whether path is at or below field.
func covers(field, path string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// comparePaths orders fields as in contracts[2].name: by name, items by number.
func comparePaths(a, b string) int {
	split := func(r rune) bool { return r == '.' || r == '[' || r == ']' }
	as, bs := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	return slices.CompareFunc(as, bs, func(x, y string) int {
		i, err1 := strconv.Atoi(x)
		j, err2 := strconv.Atoi(y)
		if err1 == nil && err2 == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(x, y)
	})
}

// invalid tells the first of the faults, each with its field, and how many more
// there are.
func invalid(faults field.ErrorList) error {
	body := func(e *field.Error) string { return clip(e.ErrorBody(), maxFault) }
	told := []string{body(faults[0])}
	for _, e := range faults[1:min(len(faults), maxFaults)] {
		told = append(told, e.Field+": "+body(e))
	}
	if more := len(faults) - maxFaults; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return &repostore.InvalidRecordError{Field: faults[0].Field, Reason: strings.Join(told, "; ")}
}

// shorten keeps a value that is shown in bounds.
func shorten(value string) string { return clip(value, maxValue) }

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
