package lexicons

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/bluesky-social/indigo/atproto/lexicon"
)

// locate finds the first field, in the order of the names, at which a record
// breaks its lexicon. indigo's validator decides whether it does; this walk only
// adds the path, which the validator's error lacks, and asks the same schema
// nodes about the values. A nil error: nothing found.
func locate(cat lexicon.Catalog, nsid string, record map[string]any) (string, error) {
	def, err := cat.Resolve(nsid)
	if err != nil {
		return "$type", err
	}
	main, ok := def.Def.(lexicon.SchemaRecord)
	if !ok {
		return "$type", fmt.Errorf("lexicon %s is not of a record", nsid)
	}
	w := walk{cat: cat}
	path, err := w.object(nsid, main.Record, record, "")
	return path, err
}

// walk descends a value along its schema.
type walk struct {
	cat lexicon.Catalog
}

// value checks one value; base is the NSID that local references start from.
func (w walk) value(base string, def, v any, path string) (string, error) {
	if v == nil {
		return path, errors.New("null is not a value: leave the field out")
	}
	switch s := def.(type) {
	case lexicon.SchemaString:
		return path, s.Validate(v, 0)
	case lexicon.SchemaInteger:
		return path, s.Validate(v)
	case lexicon.SchemaBoolean:
		return path, s.Validate(v)
	case lexicon.SchemaArray:
		return w.array(base, s, v, path)
	case lexicon.SchemaObject:
		return w.object(base, s, v, path)
	case lexicon.SchemaRef:
		ref := s.Ref
		if strings.HasPrefix(ref, "#") {
			ref = base + ref
		}
		next, err := w.cat.Resolve(ref)
		if err != nil {
			return path, err
		}
		nsid, _, _ := strings.Cut(ref, "#")
		return w.value(nsid, next.Def, v, path)
	default:
		// The project's lexicons use no other type.
		return path, nil
	}
}

func (w walk) object(base string, s lexicon.SchemaObject, v any, path string) (string, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return path, fmt.Errorf("expected an object, got %T", v)
	}
	for _, name := range s.Required {
		if _, ok := obj[name]; !ok {
			return join(path, name), errors.New("required, but missing")
		}
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		field, ok := obj[name]
		if !ok {
			continue
		}
		if p, err := w.value(base, s.Properties[name].Inner, field, join(path, name)); err != nil {
			return p, err
		}
	}
	return path, nil
}

func (w walk) array(base string, s lexicon.SchemaArray, v any, path string) (string, error) {
	items, ok := v.([]any)
	if !ok {
		return path, fmt.Errorf("expected an array, got %T", v)
	}
	if s.MaxLength != nil && len(items) > *s.MaxLength {
		return path, fmt.Errorf("%d items, at most %d are allowed", len(items), *s.MaxLength)
	}
	for i, item := range items {
		if p, err := w.value(base, s.Items.Inner, item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return p, err
		}
	}
	return path, nil
}

// join appends a field name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
