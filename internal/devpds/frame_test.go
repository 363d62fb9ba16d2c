package devpds

import (
	"bytes"
	"testing"

	cbg "github.com/whyrusleeping/cbor-gen"
)

// splitFrame is a message's type ("" of an error) and its body.
func splitFrame(t testing.TB, frame []byte) (string, []byte) {
	t.Helper()
	r := bytes.NewReader(frame)
	cr := cbg.NewCborReader(r)
	major, n, err := cr.ReadHeader()
	if err != nil || major != cbg.MajMap {
		t.Fatalf("frame header: %v", err)
	}
	kind := ""
	for range n {
		key, err := cbg.ReadString(cr)
		if err != nil {
			t.Fatal(err)
		}
		switch key {
		case "t":
			if kind, err = cbg.ReadString(cr); err != nil {
				t.Fatal(err)
			}
		case "op":
			if _, _, err := cr.ReadHeader(); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("frame header has %q", key)
		}
	}
	return kind, frame[len(frame)-r.Len():]
}
