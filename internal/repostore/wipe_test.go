package repostore

import (
	"fmt"
	"maps"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// wipe loses the views, and nothing else.
func (w *world) wipe() {
	w.t.Helper()
	if _, err := w.etcd.Delete(w.t.Context(), w.prefix+"/views/", clientv3.WithPrefix()); err != nil {
		w.t.Fatal(err)
	}
}

func (r *replica) uids() map[string]types.UID {
	r.t.Helper()
	all, err := r.list(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]types.UID{}
	for name, obj := range all {
		out[name] = obj.UID
	}
	return out
}

// With the views lost, a start serves every record again under its old name and
// uid, with our status taken back; whether the PDS gives a consistent export or
// not.
func TestWipedViewsAreRebuilt(t *testing.T) {
	for _, export := range []bool{true, false} {
		t.Run(fmt.Sprintf("export %v", export), func(t *testing.T) {
			w := newWorld(t)
			a := w.replica("A")
			for i := range 40 {
				w.repo.foreign(recordKey(fmt.Sprintf("foreign%02d", i)), widgetRecord(fmt.Sprint(i)))
			}
			w.repo.foreign(recordKey("Not_A_Name"), widgetRecord("odd"))
			w.repo.foreign(recordKey("followed"), widgetRecord("followed"))
			if err := a.m().barrier(a.ctx()); err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				if _, err := a.create(a.ctx(), aWidget(fmt.Sprintf("ours%02d", i), "x")); err != nil {
					t.Fatal(err)
				}
			}
			bindUnderAnotherName(t, a, "followed", "another")
			if err := a.setPhase(a.ctx(), "ours00", "Held"); err != nil {
				t.Fatal(err)
			}
			if err := a.store.publishOne(a.ctx(), a.ref("ours00")); err != nil {
				t.Fatal(err)
			}
			before := a.uids()
			if len(before) != 62 {
				t.Fatalf("%d objects, want 62", len(before))
			}
			w.wipe()
			w.repo.dirty = !export
			b := w.replica("B")
			if after := b.uids(); !maps.Equal(before, after) {
				t.Errorf("before %v\nafter %v", before, after)
			}
			if obj, _ := b.shown("ours00"); obj.Status.Phase != "Held" || obj.Spec.Text != "x" || obj.Generation != 1 {
				t.Errorf("ours00 is %+v", obj)
			}
			if obj, _ := b.shown("another"); obj == nil || obj.Spec.Record.URI != recordURIOf("followed") {
				t.Errorf("the followed record is served as %+v", obj)
			}
		})
	}
}

// What follows from the time at which a record was first seen doesn't follow anew from
// a rebuild.
func TestRebuildKeepsTheTimeOfFirstSight(t *testing.T) {
	w := newWorld(t)
	a := w.replica("A")
	w.repo.foreign(recordKey("undated"), widgetRecord("x"))
	a.deliverAll()
	before, _ := a.shown("undated")
	w.wipe()
	w.clock.jump(time.Hour)
	for _, name := range []string{"B", "C"} {
		r := w.replica(name)
		r.uids()
		if after, _ := r.shown("undated"); after == nil || !after.CreationTimestamp.Equal(&before.CreationTimestamp) {
			t.Errorf("%v, before %v", after, before.CreationTimestamp)
		}
		w.wipe()
	}
}

// bindUnderAnotherName moves a record from the object that serves it to a new one.
func bindUnderAnotherName(t *testing.T, r *replica, rkey, name string) {
	t.Helper()
	_, err := r.update(r.ctx(), rkey, "", func(w *widget) error { w.Spec.Record.Retain = true; return nil })
	if err == nil {
		err = r.delete(r.ctx(), rkey)
	}
	if err == nil {
		obj := aWidget(name, "ignored")
		obj.Spec.Record = widgetBinding{Repo: testRepo, URI: recordURIOf(rkey)}
		_, err = r.create(r.ctx(), obj)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A record that was deleted while the views were lost, and comes again, is
// another object.
func TestWipeForgetsDeletedRecords(t *testing.T) {
	w := newWorld(t)
	a := w.replica("A")
	for _, name := range []string{"stays", "goes", "changes"} {
		if _, err := a.create(a.ctx(), aWidget(name, "x")); err != nil {
			t.Fatal(err)
		}
	}
	before := a.uids()
	w.wipe()
	w.repo.foreign(recordKey("goes"), nil)
	w.repo.foreign(recordKey("changes"), widgetRecord("y"))
	b := w.replica("B")
	after := b.uids()
	if after["stays"] != before["stays"] || after["changes"] != before["changes"] || after["goes"] != "" {
		t.Errorf("before %v, after %v", before, after)
	}
	w.repo.foreign(recordKey("goes"), widgetRecord("x"))
	if again := b.uids()["goes"]; again == "" || again == before["goes"] {
		t.Errorf("a record that came again has uid %q; before %q", again, before["goes"])
	}
}

// Of a repository that is only read the status in a record is its account's: it is not
// taken for ours once the views were lost. One that is to be written and isn't probed
// yet has ours.
func TestWipeTakesNoForeignStatus(t *testing.T) {
	for withheld, want := range map[bool]string{false: "", true: "Held"} {
		w, side := newWorld(t), newMemRepo(sideDID)
		record := widgetRecord("x")
		record["status"] = map[string]any{"phase": "Held"}
		side.foreign(recordKey("one"), record)
		a := collecting(w, "A", side, AccessRead)
		a.collect(aCollection("col", 10))
		a.shows("collected", "one")
		w.wipe()
		b := collecting(w, "B", side, AccessRead)
		b.mountSide(AccessRead, func(m *MountedRepo) { m.Withheld = withheld })
		b.collect(aCollection("col", 10))
		b.shows("built again", "one")
		if obj, _ := b.shown("one"); obj == nil || obj.Status.Phase != want {
			t.Errorf("withheld %v: %+v, want phase %q", withheld, obj, want)
		}
	}
}

// While the repository of a lost view isn't read, its object is not said to be gone; one
// that never was is.
func TestLostViewsAreNotGone(t *testing.T) {
	for name, unread := range map[string]func(*replica){
		"access None": func(r *replica) { r.mount(AccessNone) },
		"stale reads": func(r *replica) {
			r.mount(AccessReadWrite, func(m *MountedRepo) { m.StaleReads = true })
			r.repo.setDown(atproto.ErrUnavailable)
		},
	} {
		r := alone(t)
		unread(r)
		if _, err := r.get(r.ctx(), "o"); err != nil {
			t.Errorf("%s: before: %v", name, err)
		}
		r.wipe()
		if _, err := r.get(r.ctx(), "o"); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: lost: %v", name, err)
		}
		if _, err := r.get(r.ctx(), "never"); !storage.IsNotFound(err) {
			t.Errorf("%s: another: %v", name, err)
		}
		r.repo.setDown(nil)
		r.mount(AccessReadWrite)
		if _, err := r.get(r.ctx(), "o"); err != nil {
			t.Errorf("%s: read again: %v", name, err)
		}
	}
}
