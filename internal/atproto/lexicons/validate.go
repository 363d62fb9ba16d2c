package lexicons

import (
	"errors"
	"fmt"
	"sync"

	"github.com/bluesky-social/indigo/atproto/lexicon"

	schemas "socialweb.computer/infra-apiserver/lexicons"
)

// ErrInvalid is what every error of [Validate] wraps.
var ErrInvalid = errors.New("record doesn't follow its lexicon")

// InvalidError says where a record breaks its lexicon. It wraps [ErrInvalid].
type InvalidError struct {
	// NSID is the lexicon that was applied, "" when the record names none.
	NSID string
	// Field is the path of the offending field, for example
	// "contracts[2].bidderDids[0]".
	Field string
	// Reason is the validator's word on the value.
	Reason string
}

// Error names the lexicon, the field and the fault.
func (e *InvalidError) Error() string {
	if e.NSID == "" {
		return fmt.Sprintf("%v: field %s: %s", ErrInvalid, e.Field, e.Reason)
	}
	return fmt.Sprintf("%v %s: field %s: %s", ErrInvalid, e.NSID, e.Field, e.Reason)
}

// Unwrap gives [ErrInvalid].
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// catalog reads the embedded lexicons once. They are checked by the tests of
// this package, so that a server never meets a fault here.
var catalog = sync.OnceValues(func() (*lexicon.BaseCatalog, error) {
	cat := lexicon.NewBaseCatalog()
	if err := cat.LoadEmbedFS(schemas.FS); err != nil {
		return nil, fmt.Errorf("embedded lexicons: %w", err)
	}
	return cat, nil
})

// Known says whether the project has a lexicon for the collection.
func Known(nsid string) bool {
	return nsid == schemas.Infra || nsid == schemas.EphemeralInfra
}

// Validate checks a record, in the atproto data model of indigo's atdata
// (integers are int64), against the lexicon that its $type names. The error is
// an [*InvalidError] that names the first offending field in a fixed order.
func Validate(record map[string]any) error {
	nsid, ok := record["$type"].(string)
	if !ok {
		return &InvalidError{Field: "$type", Reason: "missing, or not a string"}
	}
	return ValidateAs(nsid, record)
}

// ValidateAs is [Validate] for a record that must be of the collection nsid.
func ValidateAs(nsid string, record map[string]any) error {
	if record["$type"] != nsid {
		return &InvalidError{NSID: nsid, Field: "$type", Reason: fmt.Sprintf("must be %q, not %q", nsid, fmt.Sprint(record["$type"]))}
	}
	if !Known(nsid) {
		return &InvalidError{NSID: nsid, Field: "$type", Reason: fmt.Sprintf("no such lexicon here: %q and %q are known", schemas.Infra, schemas.EphemeralInfra)}
	}
	cat, err := catalog()
	if err != nil {
		return err
	}
	err = lexicon.ValidateRecord(cat, record, nsid, 0)
	if err == nil {
		return nil
	}
	field, reason := locate(cat, nsid, record)
	if reason == nil {
		// The walk found nothing that the validator did: keep its own words.
		field, reason = "(record)", err
	}
	return &InvalidError{NSID: nsid, Field: field, Reason: reason.Error()}
}
