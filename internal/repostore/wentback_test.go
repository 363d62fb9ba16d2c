package repostore

import (
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// backup is the repository as a PDS keeps it; restore brings it back.
func (r *memRepo) backup() (restore func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rev, records := r.rev, maps.Clone(r.records)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rev, r.records = rev, records
	}
}

// A PDS that was restored from a backup shows less than we have seen: no read is
// answered as if it were consistent (I7), until the repository's next commit, whose
// rev is later than all that was seen, brings the views to what the record is.
func TestRepositoryThatWentBack(t *testing.T) {
	r := alone(t)
	restore := r.repo.backup()
	r.repo.foreign(recordKey("o"), widgetRecord("lost"))
	if _, err := r.create(r.ctx(), aWidget("n", "lost")); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	restore()
	for _, name := range []string{"o", "n"} {
		if w, err := r.get(r.ctx(), name); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("GET of %s: %+v, %v", name, w, err)
		}
	}
	if all, err := r.list(r.ctx()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("LIST: %v, %v", all, err)
	}
	r.repo.resetCounts()
	if _, err := r.update(r.ctx(), "o", "", public("x", "l")); !apierrors.IsServiceUnavailable(err) || r.repo.count("put") != 1 {
		t.Errorf("update: %v after %d puts", err, r.repo.count("put"))
	}
	if st := r.m().state(); st.Reachable {
		t.Error("the repository's state shows nothing")
	}
	r.repo.rev += 1_000_000 // revs follow the clock
	r.repo.foreign(recordKey("z"), widgetRecord("z"))
	r.deliverAll()
	all, err := r.list(r.ctx())
	if err != nil || len(all) != 2 || all["o"] == nil || all["o"].Spec.Text != "base" || all["z"] == nil {
		t.Errorf("after the next commit: %v, %v", all, err)
	}
}
