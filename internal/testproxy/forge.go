package testproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// otherCID is well-formed and the CID of nothing that a test stores.
const otherCID = "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"

// wrongCID makes the answer name other CIDs.
func wrongCID(contentType string, body []byte) []byte {
	if !strings.HasPrefix(contentType, "application/json") {
		return damage(body, 10) // within the root's CID in the header of a CAR
	}
	return editJSON(body, func(m map[string]any) {
		if _, ok := m["cid"].(string); ok {
			m["cid"] = otherCID
		}
	})
}

// altered makes the answer's records say something else than their CIDs.
func altered(contentType string, body []byte) []byte {
	if !strings.HasPrefix(contentType, "application/json") {
		return damage(body, 1) // within the last block of a CAR
	}
	return editJSON(body, func(m map[string]any) {
		if v, ok := m["value"].(map[string]any); ok {
			v["description"] = "forged"
		}
	})
}

// damage flips one bit of a byte, counted from the end, or from the front where
// the body is short.
func damage(body []byte, fromEnd int) []byte {
	if len(body) == 0 {
		return body
	}
	out := bytes.Clone(body)
	i := len(out) - fromEnd
	if fromEnd > 1 {
		i = min(40, len(out)-1)
	}
	out[i] ^= 1
	return out
}

// editJSON edits every object in a JSON document. Numbers keep their digits.
func editJSON(body []byte, edit func(map[string]any)) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return body
	}
	var walk func(v any)
	walk = func(v any) {
		switch t := v.(type) {
		case map[string]any:
			edit(t)
			for _, e := range t {
				walk(e)
			}
		case []any:
			for _, e := range t {
				walk(e)
			}
		}
	}
	walk(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		return body
	}
	return out
}

// withoutSwap takes swapRecord out of a request.
func withoutSwap(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(editJSON(body, func(m map[string]any) { delete(m, "swapRecord") })))
	return nil
}
