package repostore

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// terminate marks an object as the registry does when finalizers hold it.
func (r *replica) terminate(name string) error {
	_, err := r.update(r.ctx(), name, "", func(w *widget) error {
		now := metav1.NewTime(time.Now())
		w.DeletionTimestamp = &now
		return nil
	})
	return err
}

func forbidden(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
}

// Of a repository that is only read, the private part can be written, the declaration
// can't, and an object goes only where nothing makes its record appear again.
func TestObjectsOfARepositoryThatIsOnlyRead(t *testing.T) {
	w := newWorld(t)
	c := collecting(w, "A", newMemRepo(sideDID), AccessRead)
	for _, name := range []string{"one", "two", "three"} {
		c.side.foreign(recordKey(name), widgetRecord(name))
	}
	col := aCollection("col", 10)
	c.collect(col)
	c.shows("collected", "one", "three", "two")
	_, err := c.update(c.ctx(), "one", "", public("mine", "l"))
	forbidden(t, "a change of the declaration", err, `AtprotoRepo "side" is Read`, "spec.access", "spec.credentialsRef")
	if obj, err := c.label(c.ctx(), "one", "l"); err != nil || !hasLabels(obj, "l") {
		t.Errorf("a label: %v", err)
	}
	if err := c.setPhase(c.ctx(), "one", "Held"); err != nil {
		t.Errorf("a status: %v", err)
	}
	forbidden(t, "a deletion", c.delete(c.ctx(), "one"), `Collection "col"`, "deletionPolicy Retain")
	forbidden(t, "the mark of one", c.terminate("one"), `Collection "col"`)
	if obj, _ := c.shown("one"); obj.DeletionTimestamp != nil {
		t.Error("it terminates")
	}
	// Retained, it goes, and its record is not served again.
	if _, err := c.update(c.ctx(), "one", "", func(w *widget) error { w.Spec.Record.Retain = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := c.delete(c.ctx(), "one"); err != nil {
		t.Fatal(err)
	}
	c.shows("retained", "three", "two")
	// A replica that still has the collection, which another knows to be closing.
	if err := c.hub.CloseCollection(c.ctx(), c.ws, col.Owner.Name, col.Owner.UID); err != nil {
		t.Fatal(err)
	}
	if err := c.terminate("two"); err != nil {
		t.Errorf("the mark: %v", err)
	}
	if err := c.delete(c.ctx(), "two"); err != nil {
		t.Errorf("the deletion: %v", err)
	}
	c.collect(nil)
	if err := c.delete(c.ctx(), "three"); err != nil {
		t.Errorf("the deletion: %v", err)
	}
	c.shows("gone")
	if n := c.side.count("delete"); n != 0 || c.side.value(recordKey("three")) == nil {
		t.Errorf("%d deletions of records", n)
	}
	// Nothing was detached but what was retained: another collection serves the rest.
	c.collect(aCollection("again", 10))
	c.deliverSide()
	c.shows("collected again", "three", "two")
	// One that read the record before the view went makes no object of it.
	c.collect(nil)
	c.side.foreign(recordKey("three"), widgetRecord("edited"))
	g := c.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) {
		return nil, c.store.ingest(c.ctx(), c.s(), recordKey("three"), ingestOptions{})
	})
	g.reached(t)
	if err := c.delete(c.ctx(), "three"); err != nil {
		t.Error(err)
	}
	g.release()
	if r := ended(t, "the ingest", late); r.err != nil {
		t.Error(r.err)
	}
	c.shows("gone again", "two")
}

// Where write access may come, and where there is none at all, a deletion waits.
func TestDeletionWaitsForAccess(t *testing.T) {
	c := collecting(newWorld(t), "A", newMemRepo(sideDID), AccessReadWrite)
	w := aWidget("o", "mine")
	w.Spec.Record.Repo = "side"
	if _, err := c.create(c.ctx(), w); err != nil {
		t.Fatal(err)
	}
	c.mountSide(AccessNone)
	forbidden(t, "without access", c.delete(c.ctx(), "o"), "None")
	forbidden(t, "the mark", c.terminate("o"), "None")
	c.mountSide(AccessRead, func(m *MountedRepo) { m.Withheld = true })
	forbidden(t, "while it is withheld", c.delete(c.ctx(), "o"), "Authorized")
	c.mountSide(AccessRead, func(m *MountedRepo) { m.Default = true })
	forbidden(t, "of the default", c.delete(c.ctx(), "o"), "default")
	c.mountSide(AccessReadWrite)
	if err := c.delete(c.ctx(), "o"); err != nil || c.side.value(recordKey("o")) != nil {
		t.Error(err)
	}
}

// Consistent reads don't leave a repository out that a collection is of: a record may
// have come that nobody has seen.
func TestDeadRepositoryOfACollection(t *testing.T) {
	c := collecting(newWorld(t), "A", newMemRepo(sideDID), AccessRead)
	c.shows("nothing uses it")
	c.side.setDown(atproto.ErrUnavailable)
	c.shows("nothing uses it, and it is dead")
	c.collect(aCollection("col", 10))
	if _, err := c.list(c.ctx()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a list: %v", err)
	}
}
