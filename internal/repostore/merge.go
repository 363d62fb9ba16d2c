package repostore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// An intent holds the whole new object as it follows from the view that it was
// taken on. Where the view gets another private part meanwhile, the two are
// brought together by a three-way merge of what is stored: whatever the intent's
// write changed is changed, and whatever the private write changed, which is
// acknowledged and came later, stands above it.

// errUnmergeable: the objects are not stored in a form that can be merged, or the
// merge would change a declaration.
var errUnmergeable = errors.New("the object can't be brought together with a write in flight")

// merge brings the intent's object together with what the private writes since
// base made of the view. All three are as encoded; the declaration is the intent's.
func (s *Store) merge(base, intended, written []byte) (runtime.Object, error) {
	var trees [3]map[string]any
	for i, data := range [][]byte{base, intended, written} {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&trees[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnmergeable, err)
		}
	}
	merged, ok := merge3(trees[0], trees[1], trees[2]).(map[string]any)
	if !ok {
		return nil, errUnmergeable
	}
	addGenerations(merged, trees[0], trees[1], trees[2])
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("encode merged object: %w", err)
	}
	obj, err := runtime.Decode(s.codec, data)
	if err != nil {
		return nil, fmt.Errorf("decode merged object: %w", err)
	}
	wanted, err := runtime.Decode(s.codec, intended)
	if err != nil {
		return nil, fmt.Errorf("decode intent's object: %w", err)
	}
	if same, err := s.sameDeclaration(wanted, obj); err != nil || !same {
		return nil, errUnmergeable
	}
	return obj, nil
}

// addGenerations counts the changes of spec that both sides made.
func addGenerations(merged, base, intended, written map[string]any) {
	of := func(tree map[string]any) int64 {
		m, _ := tree["metadata"].(map[string]any)
		n, _ := m["generation"].(json.Number)
		g, _ := n.Int64() // 0 where there is none
		return g
	}
	if m, ok := merged["metadata"].(map[string]any); ok && m["generation"] != nil {
		m["generation"] = json.Number(strconv.FormatInt(of(intended)+of(written)-of(base), 10))
	}
}

// merge3 merges JSON values; nil is absent. Where both sides changed the same
// value in different ways, it is the second's.
func merge3(base, first, second any) any {
	switch {
	case reflect.DeepEqual(base, second), reflect.DeepEqual(first, second):
		return first
	case reflect.DeepEqual(base, first):
		return second
	}
	if a, ok := first.(map[string]any); ok {
		if b, ok := second.(map[string]any); ok {
			old, _ := base.(map[string]any)
			return mergeMaps(old, a, b)
		}
	}
	if a, ok := first.([]any); ok {
		if b, ok := second.([]any); ok {
			old, _ := base.([]any)
			if merged, ok := mergeLists(old, a, b); ok {
				return merged
			}
		}
	}
	return second
}

func mergeMaps(base, first, second map[string]any) map[string]any {
	out := map[string]any{}
	keys := maps.Clone(second)
	maps.Copy(keys, first)
	for k := range keys {
		if v := merge3(base[k], first[k], second[k]); v != nil {
			out[k] = v
		}
	}
	return out
}

// mergeLists merges lists whose elements can be told apart: conditions, owner
// references, managed fields, finalizers. ok is false for any other.
func mergeLists(base, first, second []any) (out []any, ok bool) {
	b, okBase := named(base)
	x, okFirst := named(first)
	y, okSecond := named(second)
	if !okBase || !okFirst || !okSecond {
		return nil, false
	}
	out = []any{}
	for _, e := range slices.Concat(second, first) {
		id, _ := idOf(e)
		if v := merge3(b[id], x[id], y[id]); v != nil {
			out = append(out, v)
		}
		b[id], x[id], y[id] = nil, nil, nil // once
	}
	return out, true
}

func named(list []any) (map[string]any, bool) {
	out := map[string]any{}
	for _, e := range list {
		id, ok := idOf(e)
		if !ok || out[id] != nil {
			return nil, false
		}
		out[id] = e
	}
	return out, true
}

// idOf tells an element of a list from the others.
func idOf(e any) (string, bool) {
	if s, ok := e.(string); ok {
		return s, true
	}
	m, _ := e.(map[string]any)
	if m["manager"] != nil {
		return fmt.Sprint(m["manager"], " ", m["operation"], " ", m["apiVersion"], " ", m["subresource"]), true
	}
	for _, field := range []string{"uid", "type", "name"} {
		if id, ok := m[field].(string); ok {
			return id, true
		}
	}
	return "", false
}
