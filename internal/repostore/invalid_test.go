package repostore

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// invalidRecords can't be served as widgets.
func invalidRecords() map[string]map[string]any {
	return map[string]map[string]any{
		"another type":  {"$type": "com.example.other", "text": "x"},
		"no text":       {"$type": widgetCollection},
		"text a number": {"$type": widgetCollection, "text": int64(7)},
		"items a list":  {"$type": widgetCollection, "text": "x", "items": []any{"a"}},
		"item a number": {"$type": widgetCollection, "text": "x", "items": map[string]any{"a": int64(1)}},
	}
}

// putBytes makes a record of any bytes, as a careless PDS would.
func (r *memRepo) putBytes(key atproto.Key, b []byte, cid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commitLocked(foreigner, key, b, cid, false)
}

// An invalid record is neither hidden nor overwritten: the object keeps its last
// valid declaration and says what is wrong; its other parts and other objects go
// on; once the record is mended all is as before.
func TestInvalidRecord(t *testing.T) {
	for name, record := range invalidRecords() {
		t.Run(name, func(t *testing.T) {
			r := alone(t)
			if _, err := r.create(r.ctx(), aWidget("other", "fine")); err != nil {
				t.Fatal(err)
			}
			r.repo.foreign(recordKey("o"), record)
			checkInvalid(t, r, mustCID(record))
			commits := r.repo.commits()
			if _, err := r.update(r.ctx(), "o", "", public("try", "l")); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), recordURIOf("o")) {
				t.Errorf("a change of the declaration: %v", err)
			}
			if _, err := r.label(r.ctx(), "o", "private"); err != nil {
				t.Errorf("a private change: %v", err)
			}
			if err := r.setPhase(r.ctx(), "o", "Held"); err != nil {
				t.Errorf("a status: %v", err)
			}
			r.publish(t)
			if n := r.repo.commits(); n != commits {
				t.Errorf("%d commits over an invalid record", n-commits)
			}
			r.repo.foreign(recordKey("o"), widgetRecord("mended"))
			obj, err := r.get(r.ctx(), "o")
			if err != nil || obj.Spec.Text != "mended" || !hasLabels(obj, "private") || !meta.IsStatusConditionTrue(obj.Status.Conditions, ConditionRecordValid) {
				t.Errorf("mended: %+v, %v", obj, err)
			}
			r.publish(t)
			checkInSync(t, r, "Held")
		})
	}
}

func checkInvalid(t *testing.T, r *replica, cid string) {
	t.Helper()
	for range 2 { // and it stays so
		obj, err := r.get(r.ctx(), "o")
		if err != nil || obj.Spec.Text != "base" || obj.UID != "uid-o" || obj.Generation != 1 {
			t.Fatalf("GET: %+v, %v", obj, err)
		}
		c := meta.FindStatusCondition(obj.Status.Conditions, ConditionRecordValid)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, cid) {
			t.Errorf("condition %+v does not name %s", c, cid)
		}
		if obj.Status.Record.CID != cid {
			t.Errorf("status.record.cid %s, want %s", obj.Status.Record.CID, cid)
		}
		r.deliverAll()
		if all, err := r.list(r.ctx()); err != nil || len(all) != 2 {
			t.Errorf("LIST: %d objects, %v", len(all), err)
		}
	}
}

// A record that is invalid when it is first seen is shown all the same, and can be
// deleted through the API.
func TestInvalidAtFirstSight(t *testing.T) {
	w := newWorld(t)
	r := w.replica("A")
	for name, record := range invalidRecords() {
		rkey := strings.ReplaceAll(name, " ", "-")
		w.repo.foreign(recordKey(rkey), record)
	}
	float := []byte{0xa1, 0x64, 't', 'e', 'x', 't', 0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0} // {"text": 1.5}
	w.repo.putBytes(recordKey("float"), float, mustCIDOfBytes(float))
	all, err := r.list(r.ctx())
	if err != nil || len(all) != len(invalidRecords())+1 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	for name, obj := range all {
		if !meta.IsStatusConditionFalse(obj.Status.Conditions, ConditionRecordValid) || obj.UID == "" || obj.Spec.Text != "" {
			t.Errorf("%s is %+v", name, obj)
		}
		if err := r.delete(r.ctx(), name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}
	if held, err := r.list(r.ctx()); err != nil || len(held) > 0 || w.repo.value(recordKey("float")) != nil {
		t.Errorf("left: %v, %v", held, err)
	}
}

// A write that a foreign edit beat is a conflict, and the object says which edit
// won, until a write succeeds. A dry run never writes: it stops above the storage.
func TestSyncConflict(t *testing.T) {
	for what, between := range map[string]func(a, b *replica) error{
		"its own ingest brings the edit in": nil,
		"another ingest does": func(_, b *replica) error {
			_, err := b.get(b.ctx(), "o")
			return err
		},
		"another ingest does, and the object is written": func(_, b *replica) error {
			if _, err := b.get(b.ctx(), "o"); err != nil {
				return err
			}
			_, err := b.label(b.ctx(), "o", "between")
			return err
		},
	} {
		t.Run(what, func(t *testing.T) { syncConflict(t, between) })
	}
}

// syncConflict loses a write; between, where set, happens once its intent is dropped.
func syncConflict(t *testing.T, between func(a, b *replica) error) {
	t.Helper()
	r, other, _ := begin(t)
	before, _ := r.shown("o")
	put := r.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return r.update(r.ctx(), "o", before.ResourceVersion, public("ours", "w1")) })
	put.reached(t)
	r.repo.foreign(recordKey("o"), widgetRecord("theirs"))
	dropped := r.gates.stop("update.dropped")
	put.release()
	dropped.reached(t)
	if between != nil {
		if err := between(r, other); err != nil {
			t.Fatal(err)
		}
	}
	dropped.release()
	if res := ended(t, "the update", w1); !apierrors.IsConflict(res.err) {
		t.Fatalf("%v", res.err)
	}
	obj, st := r.shown("o")
	c := meta.FindStatusCondition(obj.Status.Conditions, ConditionSyncConflict)
	switch {
	case obj.Spec.Text != "theirs" || hasLabels(obj, "w1"):
		t.Errorf("the refused write left %+v", obj)
	case c == nil || c.Status != metav1.ConditionTrue || c.Reason != "RecordWon":
		t.Errorf("condition %+v", c)
	case !strings.Contains(c.Message, st.CID) || !strings.Contains(c.Message, before.ResourceVersion):
		t.Errorf("%q does not name the winning cid %s and the losing resourceVersion %s", c.Message, st.CID, before.ResourceVersion)
	}
	if _, err := r.update(r.ctx(), "o", "", public("again", "w2")); err != nil {
		t.Fatal(err)
	}
	if obj, _ := converged(t, "o", r); meta.IsStatusConditionTrue(obj.Status.Conditions, ConditionSyncConflict) {
		t.Error("the condition outlives the next successful write")
	}
}
