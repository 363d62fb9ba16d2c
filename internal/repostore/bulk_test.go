package repostore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// bulk is how many records the tests of bulk edits made elsewhere have: several for
// each that is ingested at once.
const bulk = 8 * parallel

// manyRecords makes records and their views, on a PDS that takes a moment to prove one.
func manyRecords(t *testing.T) *replica {
	t.Helper()
	r := newWorld(t).replica("A")
	for i := range bulk {
		r.repo.foreign(recordKey(fmt.Sprint("o", i)), widgetRecord("x"))
	}
	if all, err := r.list(r.ctx()); err != nil || len(all) != bulk {
		t.Fatal(len(all), err)
	}
	r.deliverAll()
	r.repo.hook = func(_ context.Context, call string, _ atproto.Key) memFault {
		if call == "prove" {
			time.Sleep(2 * time.Millisecond)
		}
		return memFault{}
	}
	r.repo.resetCounts()
	return r
}

// Many records are deleted elsewhere. No deletion makes the ingest of another start
// again: with some hundreds, one of them would lose each time, and every consistent
// read with it.
func TestManyDeletedElsewhere(t *testing.T) {
	r := manyRecords(t)
	for i := range bulk {
		r.repo.foreign(recordKey(fmt.Sprint("o", i)), nil)
	}
	if all, err := r.list(r.ctx()); err != nil || len(all) != 0 {
		t.Errorf("%d left, %v", len(all), err)
	}
	if n := r.repo.count("prove"); n != bulk {
		t.Errorf("%d proofs of %d deletions", n, bulk)
	}
}

// Many records change, and change back. What one finds says so of the others, too.
func TestManyChangedBack(t *testing.T) {
	r := manyRecords(t)
	r.repo.unsigned = true // each has to be asked for
	for _, text := range []string{"y", "x"} {
		for i := range bulk {
			r.repo.foreign(recordKey(fmt.Sprint("o", i)), widgetRecord(text))
		}
	}
	r.deliverAll()
	if n := r.repo.count("prove"); n >= 2*bulk {
		t.Errorf("%d proofs of %d records", n, bulk)
	}
	if !r.m().progress.reached(r.repo.head()) {
		t.Error("the views have not reached the head")
	}
}

// Many records appear elsewhere. Their views are made of an export, none of them is
// asked for by itself.
func TestManyAppear(t *testing.T) {
	r := alone(t)
	for i := range smallRepo + 100 {
		r.repo.foreign(recordKey(fmt.Sprint("p", i)), widgetRecord("x"))
	}
	r.repo.resetCounts()
	if all, err := r.list(r.ctx()); err != nil || len(all) != smallRepo+101 {
		t.Errorf("%d objects, %v", len(all), err)
	}
	if proofs, exports := r.repo.count("prove"), r.repo.count("export"); proofs != 0 || exports != 1 {
		t.Errorf("%d proofs, %d exports", proofs, exports)
	}
}
