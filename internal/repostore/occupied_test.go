package repostore

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// side mounts a second repository, which is not the default.
func (r *replica) side(a Access) *memRepo {
	repo := newMemRepo("did:plc:carolcarolcarolcarolcarol")
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: "side", Repo: repo, Access: a})
	return repo
}

// A record that exists and that no ingest makes the object's is told at once, as
// what it is, for the price of one put.
func TestCreateOverARecordThatIsNotServed(t *testing.T) {
	r := alone(t)
	side := r.side(AccessReadWrite)
	side.foreign(recordKey("theirs"), widgetRecord("theirs"))
	w := aWidget("theirs", "mine")
	w.Spec.Record.Repo = "side"
	if _, err := r.create(r.ctx(), w.copy()); !apierrors.IsInvalid(err) {
		t.Errorf("over a record that nobody has bound: %v", err)
	}
	if n := side.count("put"); n != 1 {
		t.Errorf("%d puts", n)
	}
	if _, err := r.create(r.ctx(), following("alias", "side", recordURI{side.did, recordKey("theirs")}.String())); err != nil {
		t.Fatal(err)
	}
	side.resetCounts()
	if _, err := r.create(r.ctx(), w.copy()); !apierrors.IsInvalid(err) {
		t.Errorf("over a record that is served by another name: %v", err)
	}
	if n := side.count("put"); n != 1 {
		t.Errorf("%d puts", n)
	}
}

func TestBindOverARecordThatIsNotServed(t *testing.T) {
	r := alone(t)
	r.hub.RemoveRepo(r.ws, testRepo)
	if _, err := r.create(r.ctx(), aWidget("p", "private")); err != nil {
		t.Fatal(err)
	}
	r.mount(AccessReadWrite)
	r.repo.foreign(recordKey("p"), widgetRecord("theirs"))
	r.repo.resetCounts()
	_, err := r.update(r.ctx(), "p", "", func(w *widget) error { w.Spec.Record.Repo = testRepo; return nil })
	if !apierrors.IsInvalid(err) || r.repo.count("put") != 1 {
		t.Errorf("%v after %d puts", err, r.repo.count("put"))
	}
}

// A record whose name is taken waits without asking the PDS again and again.
func TestWaitingRecordsCostNoRequests(t *testing.T) {
	r := alone(t)
	r.hub.RemoveRepo(r.ws, testRepo)
	if _, err := r.create(r.ctx(), aWidget("p", "private")); err != nil {
		t.Fatal(err)
	}
	r.mount(AccessReadWrite)
	r.repo.foreign(recordKey("p"), widgetRecord("theirs"))
	r.deliverAll()
	if st := r.m().state(); len(st.Conflicts) != 1 {
		t.Fatalf("conflicts: %v", st.Conflicts)
	}
	r.repo.resetCounts()
	for range 3 {
		if err := r.m().catchUp(r.ctx()); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.repo.count("prove"); n != 0 {
		t.Errorf("%d requests for a record that waits", n)
	}
	if err := r.delete(r.ctx(), "p"); err != nil {
		t.Fatal(err)
	}
	if err := r.m().catchUp(r.ctx()); err != nil {
		t.Fatal(err)
	}
	if w, _ := r.shown("p"); w == nil || w.Spec.Text != "theirs" || len(r.m().state().Conflicts) != 0 {
		t.Errorf("after the name became free: %+v, conflicts %v", w, r.m().state().Conflicts)
	}
}

// The records of a repository that is not the default cost no request each: it
// may be somebody's with many.
func TestComparisonOfUnboundRecords(t *testing.T) {
	r := alone(t)
	side := r.side(AccessRead)
	for i := range 50 {
		side.foreign(recordKey(fmt.Sprint("r", i)), widgetRecord("x"))
	}
	if _, err := r.create(r.ctx(), following("mine", "side", recordURI{side.did, recordKey("r7")}.String())); err != nil {
		t.Fatal(err)
	}
	side.foreign(recordKey("r7"), widgetRecord("edited"))
	side.resetCounts()
	all, err := r.list(r.ctx())
	if err != nil || all["mine"] == nil || all["mine"].Spec.Text != "edited" {
		t.Errorf("list: %v, %v", all, err)
	}
	if n := side.count("prove"); n != 1 {
		t.Errorf("%d records were read for one that is bound", n)
	}
}

// A second AtprotoRepo of the same account takes nothing away from the first.
func TestTwoMountsOfOneAccount(t *testing.T) {
	r := alone(t)
	for _, a := range []Access{AccessRead, AccessNone} {
		r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: "a-twin", Repo: r.repo, Access: a})
		if _, err := r.update(r.ctx(), "o", "", public("by "+string(a), "l")); err != nil {
			t.Errorf("a write beside a twin with access %s: %v", a, err)
		}
		r.repo.foreign(recordKey("o"), widgetRecord("elsewhere "+string(a)))
		if w, err := r.get(r.ctx(), "o"); err != nil || w.Spec.Text != "elsewhere "+string(a) {
			t.Errorf("a read beside a twin with access %s: %+v, %v", a, w, err)
		}
	}
}
