package repostore

import (
	"fmt"
	"slices"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// What an ingest learns while a comparison is under way stands against what the
// comparison had read before; and only so many are remembered by name.
func TestBeyond(t *testing.T) {
	keys := func(names ...string) []atproto.Key {
		var out []atproto.Key
		for _, n := range names {
			out = append(out, recordKey(n))
		}
		return out
	}
	b := beyond{}
	for _, key := range keys("stale", "served", "kept") {
		b.add(key, 0)
	}
	b.touched = map[atproto.Key]bool{}
	b.remove(recordKey("served"))
	b.add(recordKey("new"), 7)
	b.replace(keys("found", "kept", "served"))
	if got, want := b.next(10), keys("found", "kept", "new"); !slices.Equal(got, want) || b.touched != nil {
		t.Errorf("%v, want %v", got, want)
	}
	if b.keys[recordKey("new")] != 7 {
		t.Error("its size is forgotten")
	}
	if got := b.next(2); !slices.Equal(got, keys("found", "kept")) {
		t.Errorf("the first two: %v", got)
	}
	b = beyond{}
	for i := range beyondBound + 5 {
		b.add(recordKey(fmt.Sprint("r", i)), 0)
	}
	if len(b.keys) != beyondBound || b.more != 5 {
		t.Errorf("%d by name and %d more", len(b.keys), b.more)
	}
}

// Where none is known by name, though there are some, room makes the repository be
// compared.
func TestRoomForRecordsThatWereForgotten(t *testing.T) {
	c := collecting(newWorld(t), "A", newMemRepo(sideDID), AccessReadWrite)
	for _, name := range []string{"a", "b"} {
		c.side.foreign(recordKey(name), widgetRecord(name))
	}
	c.collect(aCollection("col", 1))
	c.shows("full", "a")
	c.s().beyond[widgetCollection] = &beyond{more: 1}
	c.side.foreign(recordKey("a"), nil)
	c.deliverSide()
	c.deliverSide()
	c.shows("room", "b")
	if m := c.members(); m.Beyond != 0 {
		t.Errorf("%+v", m)
	}
}
