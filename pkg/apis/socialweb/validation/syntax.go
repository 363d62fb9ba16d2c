package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateLength checks the length of a string in bytes.
func validateLength(value string, limit int, path *field.Path) field.ErrorList {
	if len(value) > limit {
		return field.ErrorList{field.TooLong(path, value, limit)}
	}
	return nil
}

// validateEnum checks that value is one of the values that are known.
func validateEnum[T ~string](value T, known []T, path *field.Path) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// validateLabel checks a DNS-1123 label.
func validateLabel(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "give it a name: lower case letters, digits and '-', at most 63 characters")}
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsDNS1123Label(value) {
		errs = append(errs, field.Invalid(path, shorten(value), msg))
	}
	return errs
}

// validateSubdomain checks a DNS-1123 subdomain that is required.
func validateSubdomain(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "give the name of an object")}
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsDNS1123Subdomain(value) {
		errs = append(errs, field.Invalid(path, shorten(value), msg))
	}
	return errs
}

// validateDID checks the syntax of a DID.
func validateDID(value string, path *field.Path) field.ErrorList {
	if len(value) > MaxDID {
		return field.ErrorList{field.TooLong(path, value, MaxDID)}
	}
	if _, err := syntax.ParseDID(value); err != nil {
		return field.ErrorList{field.Invalid(path, shorten(value), "not a DID: write it like did:plc:ewvi7nxzyoun6zhxrhs64oiz or did:web:example.com")}
	}
	return nil
}

// validateRecordURI checks an at-uri of a record: with a DID as its authority
// (a handle may move to another account), a collection and a record key. With
// collection, it must be of that one.
func validateRecordURI(value, collection string, path *field.Path) field.ErrorList {
	if len(value) > MaxATURI {
		return field.ErrorList{field.TooLong(path, value, MaxATURI)}
	}
	invalid := func(format string, args ...any) field.ErrorList {
		return field.ErrorList{field.Invalid(path, shorten(value), fmt.Sprintf(format, args...))}
	}
	uri, err := syntax.ParseATURI(value)
	if err != nil {
		return invalid("not an at-uri: write it like at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/%s/my-record", orElse(collection, "com.example.thing"))
	}
	if _, err := uri.Authority().AsDID(); err != nil {
		return invalid("names the account by its handle: use its DID")
	}
	if uri.Collection() == "" || uri.RecordKey() == "" {
		return invalid("names no record: it needs a collection and a record key")
	}
	if collection != "" && uri.Collection().String() != collection {
		return invalid("is of the collection %s: the records of this kind are in %s", uri.Collection(), collection)
	}
	return nil
}

// validateCID checks a content identifier.
func validateCID(value string, path *field.Path) field.ErrorList {
	if _, err := syntax.ParseCID(value); err != nil {
		return field.ErrorList{field.Invalid(path, shorten(value), "not a CID: copy it from the record")}
	}
	return nil
}

// orElse is value, or fallback when it is empty.
func orElse(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// inWords is a value as an error shows it: its JSON, without the quotes of a string.
func inWords(value any) string {
	raw, err := json.Marshal(value)
	if err != nil || string(raw) == "null" {
		return "nothing"
	}
	return strings.Trim(string(raw), `"`)
}

// shorten keeps an error readable when a value is long.
func shorten(value string) string {
	const keep = 80
	if len(value) <= keep {
		return value
	}
	return strings.ToValidUTF8(value[:keep], "") + "…"
}
