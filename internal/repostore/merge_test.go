package repostore

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestMerge3(t *testing.T) {
	parse := func(s string) (v any) {
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, c := range map[string]struct{ base, first, second, want string }{
		"both changed nothing":        {`{"a":1}`, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		"the first changed":           {`{"a":1}`, `{"a":2}`, `{"a":1}`, `{"a":2}`},
		"the second changed":          {`{"a":1}`, `{"a":1}`, `{"a":3}`, `{"a":3}`},
		"both changed one":            {`{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":3}`},
		"each added one":              {`{}`, `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		"each added to what was none": {`{}`, `{"m":{"a":1}}`, `{"m":{"b":2}}`, `{"m":{"a":1,"b":2}}`},
		"the first removed":           {`{"a":1,"b":1}`, `{"b":1}`, `{"a":1,"b":2}`, `{"b":2}`},
		"the second removed":          {`{"a":1,"b":1}`, `{"a":1,"b":2}`, `{"b":1}`, `{"b":2}`},
		"removed against changed":     {`{"a":1,"b":1}`, `{"b":1}`, `{"a":2,"b":1}`, `{"a":2,"b":1}`},
		"finalizers":                  {`["x","y"]`, `["x","y","a"]`, `["y","b"]`, `["y","b","a"]`},
		"conditions": {
			`[{"type":"A","s":1},{"type":"B","s":1}]`, `[{"type":"A","s":2},{"type":"B","s":1}]`,
			`[{"type":"A","s":1},{"type":"B","s":3},{"type":"C","s":1}]`, `[{"type":"A","s":2},{"type":"B","s":3},{"type":"C","s":1}]`,
		},
		"managed fields": {
			`[]`, `[{"manager":"k","operation":"Apply","fieldsV1":{"a":{}}}]`, `[{"manager":"k","operation":"Update","subresource":"status"}]`,
			`[{"manager":"k","operation":"Update","subresource":"status"},{"manager":"k","operation":"Apply","fieldsV1":{"a":{}}}]`,
		},
		"elements without a name": {`[{"a":1}]`, `[{"a":2}]`, `[{"a":3}]`, `[{"a":3}]`},
		"elements of one name":    {`["a"]`, `["a","a"]`, `["b"]`, `["b"]`},
		"another type":            {`{"a":{}}`, `{"a":[]}`, `{"a":1}`, `{"a":1}`},
	} {
		if got := merge3(parse(c.base), parse(c.first), parse(c.second)); !reflect.DeepEqual(got, parse(c.want)) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
