package repostore

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The schedules that a simpler protocol loses, one a test. In each, A and B are
// replicas of one server; a gate holds a write at the named failpoint.

// public is a change of the declaration with a label that tells whose it is.
func public(text, label string) func(*widget) error {
	return func(w *widget) error {
		w.Spec.Text = text
		setLabel(w, label)
		return nil
	}
}

// begin makes a world of two replicas with one object.
func begin(t *testing.T) (a, b *replica, obj *widget) {
	t.Helper()
	w := newWorld(t)
	a, b = w.replica("A"), w.replica("B")
	obj, err := a.create(a.ctx(), aWidget("o", "base"))
	if err != nil {
		t.Fatal(err)
	}
	a.deliverAll()
	b.deliverAll()
	return a, b, obj
}

// converged delivers everything and demands that the view is the record.
func converged(t *testing.T, name string, replicas ...*replica) (*widget, stamp) {
	t.Helper()
	for _, r := range replicas {
		r.deliverAll()
	}
	obj, st := replicas[0].shown(name)
	rec := replicas[0].repo.value(recordKey(name))
	switch {
	case obj == nil && rec != nil:
		t.Fatalf("record %s is served by no object", name)
	case obj != nil && rec == nil:
		t.Fatalf("%s is a phantom: its record is gone", name)
	case obj != nil && obj.Spec.Text != rec["text"]:
		t.Fatalf("%s shows %q, its record %q", name, obj.Spec.Text, rec["text"])
	}
	if left := replicas[0].keysBelow("intents"); len(left) > 0 {
		t.Fatalf("intents left: %q", left)
	}
	return obj, st
}

// S1: intent · another's private update · put · ingest. The private update waits
// for the intent, so neither part is lost.
func TestS1PrivateUpdateUnderAnIntent(t *testing.T) {
	a, b, _ := begin(t)
	put := a.gates.stop("update.before-put")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("new", "w1")) })
	put.reached(t)
	w2 := start(func() (*widget, error) { return b.label(b.ctx(), "o", "w2") })
	b.gates.passed(t, "pause", 3)
	running(b, "the private update", w2)
	put.release()
	if r := ended(t, "the public update", w1); r.err != nil {
		t.Fatal(r.err)
	}
	if r := ended(t, "the private update", w2); r.err != nil {
		t.Fatal(r.err)
	}
	if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1", "w2") || obj.Spec.Text != "new" {
		t.Errorf("labels %v, text %q", obj.Labels, obj.Spec.Text)
	}
}

// S2: the same with a resourceVersion: a put that commits is never answered 409,
// and one that is answered 409 was never made.
func TestS2PreconditionAroundTheIntent(t *testing.T) {
	t.Run("private update after the intent", func(t *testing.T) {
		a, b, obj := begin(t)
		put := a.gates.stop("update.before-put")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", obj.ResourceVersion, public("new", "w1")) })
		put.reached(t)
		w2 := start(func() (*widget, error) { return b.label(b.ctx(), "o", "w2") })
		b.gates.passed(t, "pause", 3)
		put.release()
		if r := ended(t, "the update with a resourceVersion", w1); r.err != nil {
			t.Fatal(r.err)
		}
		if r := ended(t, "the private update", w2); r.err != nil {
			t.Fatal(r.err)
		}
		if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1", "w2") {
			t.Errorf("labels %v", obj.Labels)
		}
	})
	t.Run("private update before the intent", func(t *testing.T) {
		a, b, obj := begin(t)
		intent := a.gates.stop("update.before-intent")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", obj.ResourceVersion, public("new", "w1")) })
		intent.reached(t)
		if _, err := b.label(b.ctx(), "o", "w2"); err != nil {
			t.Fatal(err)
		}
		commits := len(a.repo.history())
		intent.release()
		if r := ended(t, "the update with a resourceVersion", w1); !apierrors.IsConflict(r.err) {
			t.Fatalf("want a conflict: %v", r.err)
		}
		if n := len(a.repo.history()); n != commits {
			t.Errorf("a refused write made %d commits", n-commits)
		}
		if obj, _ := converged(t, "o", a, b); hasLabels(obj, "w1") || !hasLabels(obj, "w2") {
			t.Errorf("labels %v", obj.Labels)
		}
	})
}

// S3: two writers of the same bytes. The PDS answers the second put without a
// commit; each is acknowledged with its private part whole.
func TestS3SameBytes(t *testing.T) {
	t.Run("both ours", func(t *testing.T) {
		a, b, _ := begin(t)
		intent := a.gates.stop("update.before-intent")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("same", "w1")) })
		intent.reached(t)
		put := b.gates.stop("update.before-put")
		w2 := start(func() (*widget, error) { return b.update(b.ctx(), "o", "", public("same", "w2")) })
		put.reached(t)
		intent.release()
		a.gates.passed(t, "pause", 2)
		running(a, "the second writer", w1)
		put.release()
		for _, w := range []<-chan result{w1, w2} {
			if r := ended(t, "a writer", w); r.err != nil {
				t.Fatal(r.err)
			}
		}
		if obj, _ := converged(t, "o", a, b); !hasLabels(obj, "w1", "w2") {
			t.Errorf("labels %v", obj.Labels)
		}
	})
	t.Run("one made elsewhere", func(t *testing.T) {
		a, b, _ := begin(t)
		put := a.gates.stop("update.before-put")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("same", "w1")) })
		put.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("same"))
		put.release()
		if r := ended(t, "the writer", w1); r.err != nil {
			t.Fatal(r.err)
		}
		if obj, _ := converged(t, "o", b, a); !hasLabels(obj, "w1") {
			t.Errorf("labels %v", obj.Labels)
		}
	})
}

// S4: the put of a create · another replica's ingest · deleted elsewhere · the
// writer goes on. No phantom stays, whoever made the view.
func TestS4CreateDeletedElsewhere(t *testing.T) {
	for _, expired := range []bool{false, true} {
		w := newWorld(t)
		a, b := w.replica("A"), w.replica("B")
		view := a.gates.stop("create.before-view")
		w1 := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("o", "base")) })
		view.reached(t)
		for b.src.waiting() > 0 {
			b.src.deliver(0, false)
		}
		if expired {
			w.clock.jump(time.Hour)
			b.deliverAll()
		} else if err := b.m().catchUp(b.ctx()); !errors.Is(err, ErrBusy) {
			t.Fatalf("the ingest of a live create: %v, want busy", err)
		}
		w.repo.foreign(recordKey("o"), nil)
		if expired {
			b.deliverAll()
		}
		view.release()
		r := ended(t, "the create", w1)
		if !expired && r.err != nil || expired && !apierrors.IsTimeout(r.err) {
			t.Errorf("expired %v: %v", expired, r.err)
		}
		if obj, _ := converged(t, "o", b, a); obj != nil {
			t.Errorf("expired %v: phantom with uid %s", expired, obj.UID)
		}
	}
}

// S5: an ingest has read the record, then the object is deleted; the ingest must
// not make it again, with a new uid.
func TestS5LateIngestOfADeletedObject(t *testing.T) {
	w := newWorld(t)
	a, b := w.replica("A"), w.replica("B")
	w.repo.foreign(recordKey("o"), widgetRecord("base"))
	write := b.gates.stop("ingest.before-write")
	late := start(func() (*widget, error) {
		return nil, b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{wait: true})
	})
	write.reached(t)
	a.deliverAll()
	if obj, _ := a.shown("o"); obj == nil {
		t.Fatal("A did not ingest the record")
	}
	if err := a.delete(a.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	write.release()
	if r := ended(t, "the late ingest", late); r.err != nil {
		t.Fatal(r.err)
	}
	if obj, _ := b.shown("o"); obj != nil {
		t.Fatalf("the late ingest made the deleted object again, with uid %s", obj.UID)
	}
	converged(t, "o", a, b)
}
