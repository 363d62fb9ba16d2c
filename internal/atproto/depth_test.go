package atproto

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"
)

// Brackets without end exist and have no value; they cost nothing to refuse.
func TestDeepRecordsAreNotDecoded(t *testing.T) {
	deep := slices.Concat([]byte{0xa1, 0x61, 'a'}, bytes.Repeat([]byte{0x81}, 900_000), []byte{0x80})
	if rec := decodeBlock("cid", deep); rec.Value != nil || rec.CID != "cid" {
		t.Errorf("%+v", rec)
	}
	if _, ok := decodeJSON(recordOutput{Value: bytes.Repeat([]byte{'['}, 900_000)}); ok {
		t.Error("decoded")
	}
	for text, want := range map[string]bool{
		`{"a":"[[[\\\"[[["}`: true, strings.Repeat("[", maxReadDepth) + strings.Repeat("]", maxReadDepth): true,
		strings.Repeat("[", maxReadDepth+1): false, `{"a":"` + strings.Repeat("[", 1000) + `"}`: true,
		strings.Repeat("[]", 1000): true, `"\`: true, ``: true,
	} {
		if shallowJSON([]byte(text)) != want {
			t.Errorf("%.40s: %v", text, !want)
		}
	}
	// As deep as may be written can be read.
	v := testValue("A")
	inner := v
	for range maxDepth - 1 {
		next := map[string]any{}
		inner["d"] = next
		inner = next
	}
	if err := CheckRecord(v); err != nil {
		t.Fatal(err)
	}
	b, err := atdata.MarshalCBOR(v)
	if err != nil || decodeBlock("cid", b).Value == nil {
		t.Errorf("%v", err)
	}
	j, err := json.Marshal(output(t, testKey, v, ""))
	var out recordOutput
	if err != nil || json.Unmarshal(j, &out) != nil {
		t.Fatal(err)
	}
	if _, ok := decodeJSON(out); !ok {
		t.Error("not decoded")
	}
}
