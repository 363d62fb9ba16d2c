package atproto

import (
	"errors"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"

	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

func TestDecodeRecord(t *testing.T) {
	data, err := atdata.MarshalCBOR(map[string]any{"$type": "a.b.c", "text": "x"})
	if err != nil {
		t.Fatal(err)
	}
	id, err := recordcid.OfBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := DecodeRecord(id, data); err != nil || rec.CID != id || rec.Value["text"] != "x" {
		t.Errorf("%+v, %v", rec, err)
	}
	if rec, err := DecodeRecord(id, append([]byte{}, data[:len(data)-1]...)); !errors.Is(err, ErrBadData) {
		t.Errorf("other bytes: %+v, %v", rec, err)
	}
	float := []byte{0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}
	if id, err = recordcid.OfBytes(float); err != nil {
		t.Fatal(err)
	}
	if rec, err := DecodeRecord(id, float); err != nil || rec.Value != nil {
		t.Errorf("what is no atproto data: %+v, %v", rec, err)
	}
}
