package lexicons

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"
)

// FuzzValidate feeds arbitrary JSON records. Whatever comes: no panic, the same
// answer twice, and an error that names a field.
func FuzzValidate(f *testing.F) {
	seeds := []map[string]any{infraRecord(), ephemeralRecord()}
	for _, tc := range invalidCases {
		r := tc.record()
		tc.change(r)
		seeds = append(seeds, r)
	}
	for _, r := range seeds {
		raw, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"$type":"computer.socialweb.infra","contracts":[{"$link":"x"}]}`))
	f.Add([]byte(`{"$type":"computer.socialweb.infra","contracts":{"$bytes":"AAAA"}}`))

	f.Fuzz(func(t *testing.T, raw []byte) {
		record, err := atdata.UnmarshalJSON(raw)
		if err != nil {
			return
		}
		first := Validate(record)
		second := Validate(record)
		if first == nil {
			if second != nil {
				t.Fatalf("valid once, then %v", second)
			}
			return
		}
		var invalid *InvalidError
		if !errors.As(first, &invalid) || invalid.Field == "" {
			t.Fatalf("got %v, want an InvalidError with a field", first)
		}
		if second == nil || second.Error() != first.Error() {
			t.Fatalf("two answers: %v and %v", first, second)
		}
		if invalid.Field == "(record)" {
			t.Fatalf("no field was found for %v", first)
		}
	})
}
