package recordcid

import (
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"
)

// The CIDs of the first two are from the data model's specification and from
// the reference PDS; the others say what must not matter, and what must.
func TestOf(t *testing.T) {
	empty, err := Of(map[string]any{})
	if err != nil || empty != "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua" {
		t.Errorf("the empty map: %s, %v", empty, err)
	}
	a := map[string]any{"$type": "a.b.c", "list": []any{int64(1), nil, true}, "bb": "x", "c": "y"}
	first, err := Of(a)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 { // map order doesn't matter
		if again, err := Of(a); err != nil || again != first {
			t.Fatalf("%s, %v, before %s", again, err, first)
		}
	}
	parsed, err := atdata.UnmarshalJSON([]byte(`{"c":"y","list":[1,null,true],"$type":"a.b.c","bb":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Of(parsed); err != nil || again != first {
		t.Errorf("from JSON: %s, %v, want %s", again, err, first)
	}
	a["list"] = []any{int64(1), true}
	if other, err := Of(a); err != nil || other == first {
		t.Errorf("a null is lost: %s, %v", other, err)
	}
}

func TestOfBytesIsOfTheEncoding(t *testing.T) {
	v := map[string]any{"x": int64(1)}
	b, err := atdata.MarshalCBOR(v)
	if err != nil {
		t.Fatal(err)
	}
	want, err1 := Of(v)
	got, err2 := OfBytes(b)
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("%s, %s, %v, %v", got, want, err1, err2)
	}
}
