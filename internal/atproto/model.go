package atproto

import (
	"fmt"
	"unicode/utf8"

	"github.com/bluesky-social/indigo/atproto/atdata"
)

const (
	// maxSafeInteger is 2^53-1: what every JSON implementation keeps. The
	// reference PDS fails with a 500 above it.
	maxSafeInteger = atdata.MAX_SAFE_INTEGER
	// maxDepth of nested containers.
	maxDepth = atdata.MAX_CBOR_NESTED_LEVELS
)

// CheckRecord refuses, as ErrInvalidRecord, a value that is not in the atproto
// data model or that a PDS would store otherwise than as given: it must have a
// $type (a PDS fills it in), integers are at most 2^53-1, strings are UTF-8.
// https://atproto.com/specs/data-model
func CheckRecord(value map[string]any) error {
	if t, ok := value["$type"].(string); !ok || t == "" {
		return fmt.Errorf("%w: it has no $type", ErrInvalidRecord)
	}
	return checkValue(value, "", 0)
}

func checkValue(v any, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: %s: nested deeper than %d", ErrInvalidRecord, path, maxDepth)
	}
	switch x := v.(type) {
	case nil, bool, atdata.CIDLink, atdata.Bytes, atdata.Blob:
		return nil
	case string:
		if !utf8.ValidString(x) {
			return fmt.Errorf("%w: %s: not UTF-8", ErrInvalidRecord, path)
		}
		return nil
	case int:
		return checkInt(int64(x), path)
	case int64:
		return checkInt(x, path)
	case []any:
		for i, e := range x {
			if err := checkValue(e, fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for k, e := range x {
			if !utf8.ValidString(k) {
				return fmt.Errorf("%w: %s: a field name is not UTF-8", ErrInvalidRecord, path)
			}
			// In JSON these would be read as a link or as bytes.
			if k == "$link" || k == "$bytes" {
				return fmt.Errorf("%w: %s: reserved field name %s", ErrInvalidRecord, path, k)
			}
			if err := checkValue(e, path+"."+k, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %s: %T is not in the data model", ErrInvalidRecord, path, v)
}

func checkInt(n int64, path string) error {
	if n > maxSafeInteger || n < -maxSafeInteger {
		return fmt.Errorf("%w: %s: integer beyond 2^53-1", ErrInvalidRecord, path)
	}
	return nil
}
