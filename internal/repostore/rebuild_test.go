package repostore

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// viewRevisions counts the views of each revision.
func (w *world) viewRevisions() map[int64]int {
	w.t.Helper()
	resp, err := w.etcd.Get(w.t.Context(), w.prefix+"/views/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[int64]int{}
	for _, kv := range resp.Kvs {
		out[kv.ModRevision]++
	}
	return out
}

// A start with an empty cache makes its views from the export: no record is read by
// itself. No two views share a revision: a cache that has seen one of them would
// pass for as new as both, and a watch from there never tell the other (I7).
func TestRebuildGivesEachViewARevision(t *testing.T) {
	w := newWorld(t)
	const records = 200
	for i := range records {
		w.repo.foreign(recordKey(fmt.Sprintf("r%03d", i)), widgetRecord("x"))
	}
	r := w.replica("A")
	if all, err := r.list(r.ctx()); err != nil || len(all) != records {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	if revisions := w.viewRevisions(); len(revisions) != records {
		t.Errorf("%d revisions of %d views", len(revisions), records)
	}
	if n := w.repo.count("prove"); n > 0 {
		t.Errorf("%d records were read by themselves", n)
	}
}

// tombstone leaves the memory of a dropped intent that means nothing here.
func (w *world) tombstone(name string) {
	w.t.Helper()
	key := w.prefix + "/tombstones" + w.ref(name).key + "/nonce"
	if _, err := w.etcd.Put(w.t.Context(), key, `{"op":"update","nonce":"nonce","uri":"elsewhere"}`); err != nil {
		w.t.Fatal(err)
	}
}

// An object of which an intent was dropped is left to ingest, which knows what
// that meant; all others are made from the export all the same.
func TestRebuildLeavesOutWhatHasATombstone(t *testing.T) {
	w := newWorld(t)
	for i := range 60 {
		w.repo.foreign(recordKey(fmt.Sprintf("r%02d", i)), widgetRecord("x"))
	}
	w.tombstone("r07")
	r := w.replica("A")
	if all, err := r.list(r.ctx()); err != nil || len(all) != 60 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	if n := w.repo.count("prove"); n != 1 {
		t.Errorf("%d records were read by themselves, want one", n)
	}
}

// An export that is older than what another replica has compared makes no view: a
// record that it holds may be gone since.
func TestRebuildFromAnExportBehindTheHorizon(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.repo.foreign(recordKey(fmt.Sprintf("r%02d", i)), widgetRecord("x"))
	}
	a, b := w.replica("A"), w.replica("B")
	held, commit, err := w.repo.Export(t.Context(), []string{widgetCollection})
	if err != nil {
		t.Fatal(err)
	}
	w.repo.foreign(recordKey("r42"), nil)
	if all, err := b.list(b.ctx()); err != nil || len(all) != 49 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	w.wipe() // nothing but the horizon tells A of it
	rb := &rebuilder{Store: a.store, m: a.m(), held: held, rev: commit.Rev}
	if err := rb.all(t.Context(), slices.Collect(maps.Keys(held))); err != nil {
		t.Fatal(err)
	}
	if views := w.keysBelow("views"); len(views) > 0 || len(rb.left) != 50 {
		t.Errorf("%d views, %d left", len(views), len(rb.left))
	}
}

// Of two records that would have one name the one that is bound by it keeps it, and
// the other waits.
func TestRebuildOfOneNameTwice(t *testing.T) {
	w := newWorld(t)
	a := w.replica("A")
	for i := range 40 {
		w.repo.foreign(recordKey(fmt.Sprintf("r%02d", i)), widgetRecord("x"))
	}
	w.repo.foreign(recordKey("followed"), widgetRecord("followed"))
	a.deliverAll()
	bindUnderAnotherName(t, a, "followed", "another")
	before := a.uids()
	w.repo.foreign(recordKey("another"), widgetRecord("its name is taken"))
	w.wipe()
	b := w.replica("B")
	after := b.uids()
	if len(after) != len(before) || after["r00"] != before["r00"] {
		t.Errorf("before %v\nafter %v", before, after)
	}
}

// A gap of which the head says that nothing was missed compares nothing; one in
// which a commit was missed does, and so does one that lost views here.
func TestGapIsClosedByTheHead(t *testing.T) {
	r := alone(t)
	for what, c := range map[string]struct {
		before func()
		want   bool
	}{
		"nothing was missed": {func() {}, false},
		"a commit was missed": {func() {
			r.src.disconnect()
			r.repo.foreign(recordKey("o"), widgetRecord("missed"))
		}, true},
		"a view was lost": {func() { r.m().progress.lost("a test lost it") }, true},
	} {
		r.repo.resetCounts()
		c.before()
		r.src.reconnect()
		r.deliverAll()
		if _, g := r.m().progress.tasks(); g.open() {
			t.Errorf("%s: the gap is open: %s", what, g.reason)
		}
		if compared := r.repo.count("list")+r.repo.count("export") > 0; compared != c.want {
			t.Errorf("%s: compared %v", what, compared)
		}
	}
	if w, _ := r.shown("o"); w == nil || w.Spec.Text != "missed" {
		t.Errorf("the view shows %+v", w)
	}
}
