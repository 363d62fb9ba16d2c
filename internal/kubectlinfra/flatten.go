package kubectlinfra

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// flatten gives each leaf of a record, as JSON, by its path: contracts[0].name.
func flatten(record map[string]any) (map[string]string, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	out := map[string]string{}
	return out, flattenInto(out, "", value)
}

func flattenInto(out map[string]string, path string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			at := k
			if path != "" {
				at = path + "." + k
			}
			if err := flattenInto(out, at, e); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			return nil
		}
	case []any:
		for i, e := range v {
			if err := flattenInto(out, path+"["+strconv.Itoa(i)+"]", e); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			return nil
		}
	}
	var leaf bytes.Buffer
	e := json.NewEncoder(&leaf)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	out[path] = strings.TrimSuffix(leaf.String(), "\n")
	return nil
}

// comparePaths orders by name, items by number.
func comparePaths(a, b string) int {
	split := func(r rune) bool { return r == '.' || r == '[' || r == ']' }
	return slices.CompareFunc(strings.FieldsFunc(a, split), strings.FieldsFunc(b, split), func(x, y string) int {
		i, err1 := strconv.Atoi(x)
		j, err2 := strconv.Atoi(y)
		if err1 == nil && err2 == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(x, y)
	})
}
