package render

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

var errShorter = errors.New("a list gets shorter: patches of components couldn't be combined")

// difference is the patch that makes after of before. What is added to a list goes
// to its end, and nothing is removed from one, so that such patches can be combined
// in any order. What they replace they test first.
func difference(path string, before, after any) ([]operation, error) {
	switch a := after.(type) {
	case map[string]any:
		if b, ok := before.(map[string]any); ok {
			return differenceOfMaps(path, b, a)
		}
	case []any:
		if b, ok := before.([]any); ok {
			return differenceOfLists(path, b, a)
		}
	}
	if reflect.DeepEqual(before, after) {
		return nil, nil
	}
	return []operation{{"test", path, before}, {"replace", path, after}}, nil
}

func differenceOfMaps(path string, before, after map[string]any) ([]operation, error) {
	var out []operation
	for _, k := range slices.Sorted(maps.Keys(after)) {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		if _, ok := before[k]; !ok {
			out = append(out, operation{"add", at, after[k]})
			continue
		}
		ops, err := difference(at, before[k], after[k])
		if err != nil {
			return nil, err
		}
		out = append(out, ops...)
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[k]; !ok {
			return nil, fmt.Errorf("%s/%s: a component may not remove it", path, k)
		}
	}
	return out, nil
}

func differenceOfLists(path string, before, after []any) ([]operation, error) {
	if len(after) < len(before) {
		return nil, fmt.Errorf("%s: %w", path, errShorter)
	}
	var out []operation
	for i, item := range after {
		if i >= len(before) {
			out = append(out, operation{"add", path + "/-", item})
			continue
		}
		ops, err := difference(fmt.Sprintf("%s/%d", path, i), before[i], item)
		if err != nil {
			return nil, err
		}
		out = append(out, ops...)
	}
	return out, nil
}
