package record

import (
	"fmt"
	"math"
	"slices"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"k8s.io/apimachinery/pkg/util/validation/field"

	schemas "socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
)

// shapeFaults tells what the API's rules can't say of a record that breaks its
// lexicon: what is of the wrong type, or missing. The lexicon's own validator
// stops at the first fault.
func shapeFaults(collection string, record map[string]any) field.ErrorList {
	if record["$type"] != collection {
		return field.ErrorList{wrong(field.NewPath("$type"), record["$type"], fmt.Sprintf("must be %q", collection))}
	}
	var s shape
	s.text(record, "description", nil)
	if collection == schemas.EphemeralInfra {
		s.number(record, "ttlSeconds", nil)
		s.text(record, "endWhen", nil)
	}
	if v, ok := record["createdAt"]; ok {
		word, isText := v.(string)
		if _, err := syntax.ParseDatetime(word); !isText || err != nil {
			s.add(wrong(field.NewPath("createdAt"), v, "not a time: write it like \"2026-11-30T03:00:00Z\", or leave it out"))
		}
	}
	path := field.NewPath("contracts")
	v, ok := record["contracts"]
	if !ok {
		s.add(field.Required(path, "list the contracts: [] where there are none"))
		return s.faults
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		s.add(wrong(path, v, "must be a list, not "+kindOf(v)))
	case len(list) <= validation.MaxContracts: // else the API's rules tell, without a look at the items
		for i, e := range list {
			s.contract(e, path.Index(i))
		}
	}
	return s.faults
}

// shape collects faults.
type shape struct{ faults field.ErrorList }

func (s *shape) add(e *field.Error) { s.faults = append(s.faults, e) }

func (s *shape) contract(v any, path *field.Path) {
	m, ok := v.(map[string]any)
	if !ok {
		s.add(wrong(path, v, "must be an object with a name and a state, not "+kindOf(v)))
		return
	}
	for _, key := range []string{"name", "state", "vmName", "userData", "policy"} {
		s.text(m, key, path)
	}
	for _, key := range []string{"bidderDids", "denyBidderDids", "sshAuthorizedKeys", "policyArgs"} {
		s.texts(m, key, path)
	}
	s.number(m, "vmReadyTimeoutSec", path)
}

func (s *shape) text(m map[string]any, key string, path *field.Path) {
	if v, ok := m[key]; ok {
		s.isText(v, path.Child(key), key)
	}
}

func (s *shape) isText(v any, path *field.Path, key string) {
	if _, ok := v.(string); !ok {
		s.add(wrong(path, shown(v, key), "must be a string, not "+kindOf(v)))
	}
}

func (s *shape) texts(m map[string]any, key string, path *field.Path) {
	v, ok := m[key]
	if !ok {
		return
	}
	list, ok := v.([]any)
	if !ok {
		s.add(wrong(path.Child(key), shown(v, key), "must be a list of strings, not "+kindOf(v)))
		return
	}
	const most = max(validation.MaxDIDs, validation.MaxSSHKeys, validation.MaxPolicyArgs)
	for i, e := range list[:min(len(list), most)] { // of a longer list the API's rules tell
		s.isText(e, path.Child(key).Index(i), key)
	}
}

func (s *shape) number(m map[string]any, key string, path *field.Path) {
	v, ok := m[key]
	if !ok {
		return
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		s.add(wrong(path.Child(key), v, "must be a whole number of seconds, not "+kindOf(v)))
	case n < math.MinInt32 || n > math.MaxInt32:
		s.add(field.Invalid(path.Child(key), n, "is out of all bounds: give the time in seconds"))
	}
}

// shown is a value, but for those of the fields in which somebody may have put a
// secret.
func shown(v any, key string) any {
	if slices.Contains([]string{"sshAuthorizedKeys", "userData"}, key) {
		return nil
	}
	return v
}

// wrong is the fault of a value, which is repeated where it is a short one.
func wrong(path *field.Path, v any, remedy string) *field.Error {
	switch t := v.(type) {
	case string:
		return field.Invalid(path, shorten(t), remedy)
	case int64, bool:
		return field.Invalid(path, t, remedy)
	default:
		return field.Invalid(path, field.OmitValueType{}, remedy)
	}
}

// kindOf names the type of a value of the atproto data model.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case int64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "bytes, a link or a blob"
	}
}
