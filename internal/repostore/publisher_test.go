package repostore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// alone makes a replica that runs nothing by itself, with one object.
func alone(t *testing.T) *replica {
	t.Helper()
	r := newWorld(t).replica("A")
	if _, err := r.create(r.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	return r
}

func (r *replica) setPhase(ctx context.Context, name, phase string) error {
	_, err := r.update(ctx, name, "", func(w *widget) error { w.Status.Phase = phase; return nil })
	return err
}

func (r *replica) publish(t *testing.T) {
	t.Helper()
	if err := r.store.publishOne(r.ctx(), r.ref("o")); err != nil {
		t.Fatalf("publish: %v", err)
	}
}

// phaseIn is the phase in the record, "" without a status.
func (w *world) phaseIn(name string) string {
	status, _ := w.repo.value(recordKey(name))["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	return phase
}

// checkInSync demands that nothing is left to be written, and that everything
// tells the same CID.
func checkInSync(t *testing.T, r *replica, phase string) {
	t.Helper()
	obj, st := r.shown("o")
	rec, err := r.repo.GetRecord(withActor(t.Context(), foreigner), recordKey("o"))
	if err != nil {
		t.Fatal(err)
	}
	switch rs := obj.Status.Record; {
	case obj.Status.Phase != phase || r.phaseIn("o") != phase:
		t.Errorf("phase %q in the object, %q in the record, want %q", obj.Status.Phase, r.phaseIn("o"), phase)
	case rs == nil || rs.Direction != InSync:
		t.Errorf("status.record is %+v, want InSync", rs)
	case rs.CID != rec.CID || st.CID != rec.CID:
		t.Errorf("status.record.cid %s, stamp %s, record %s", rs.CID, st.CID, rec.CID)
	}
}

func TestPublisherWritesWhatChangedAlone(t *testing.T) {
	r := alone(t)
	want := 1
	commits := func(what string) {
		t.Helper()
		if n := r.repo.commits(); n != want {
			t.Fatalf("%s: %d commits, want %d", what, n, want)
		}
	}
	r.publish(t)
	commits("nothing to publish")
	checkInSync(t, r, "")
	if _, err := r.label(r.ctx(), "o", "l"); err != nil {
		t.Fatal(err)
	}
	r.publish(t)
	commits("a private change")
	if err := r.setPhase(r.ctx(), "o", "Held"); err != nil {
		t.Fatal(err)
	}
	commits("a status that is not published yet")
	before, _ := r.shown("o")
	r.publish(t)
	want++
	commits("a changed status")
	checkInSync(t, r, "Held")
	r.publish(t)
	r.deliverAll()
	r.publish(t)
	commits("a status that is published")
	if after, _ := r.shown("o"); after.Generation != before.Generation || !hasLabels(after, "l") {
		t.Errorf("publishing changed the object: %+v", after.ObjectMeta)
	}
}

// A declaration write carries the status of the moment with it.
func TestDeclarationWriteCarriesTheStatus(t *testing.T) {
	r := alone(t)
	if err := r.setPhase(r.ctx(), "o", "Held"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.update(r.ctx(), "o", "", public("new", "l")); err != nil {
		t.Fatal(err)
	}
	commits := r.repo.commits()
	r.publish(t)
	checkInSync(t, r, "Held")
	if n := r.repo.commits(); n != commits {
		t.Errorf("the publisher made %d commits after it", n-commits)
	}
}

// An edit made elsewhere that drops or replaces our status keeps its declaration,
// its unknown fields, and gets our status back.
func TestPublisherWritesBack(t *testing.T) {
	for _, theirs := range []map[string]any{nil, {"phase": "Theirs"}, {"phase": "Held", "more": "x"}} {
		r := alone(t)
		if err := r.setPhase(r.ctx(), "o", "Held"); err != nil {
			t.Fatal(err)
		}
		r.publish(t)
		edit := widgetRecord("edited")
		edit["colour"] = "blue"
		if theirs != nil {
			edit["status"] = theirs
		}
		r.repo.foreign(recordKey("o"), edit)
		r.deliverAll()
		if obj, _ := r.shown("o"); obj.Status.Phase != "Held" || obj.Spec.Text != "edited" || obj.Status.Record.Direction != Pulled {
			t.Errorf("after the edit with status %v: %q, %q, %s", theirs, obj.Status.Phase, obj.Spec.Text, obj.Status.Record.Direction)
		}
		r.publish(t)
		checkInSync(t, r, "Held")
		if got := r.repo.value(recordKey("o")); got["colour"] != "blue" || got["text"] != "edited" {
			t.Errorf("the write-back lost a part of the edit: %v", got)
		}
	}
}

// Somebody who keeps replacing our status wins after some rounds, until ours
// changes.
func TestStatusContested(t *testing.T) {
	r := alone(t)
	contested := func() bool {
		obj, _ := r.shown("o")
		return meta.IsStatusConditionTrue(obj.Status.Conditions, ConditionStatusContested)
	}
	replace := func(i int) {
		edit := r.repo.value(recordKey("o"))
		edit["status"] = map[string]any{"phase": fmt.Sprint("Theirs", i)}
		r.repo.foreign(recordKey("o"), edit)
		r.deliverAll()
	}
	for _, ours := range []string{"Held", "Released"} {
		if err := r.setPhase(r.ctx(), "o", ours); err != nil {
			t.Fatal(err)
		}
		r.publish(t)
		if r.phaseIn("o") != ours || contested() {
			t.Fatalf("a status that changed: %q in the record, contested %v", r.phaseIn("o"), contested())
		}
		for i := 1; i <= contestLimit; i++ {
			replace(i)
			commits := r.repo.commits()
			r.publish(t)
			wrote := r.repo.commits() > commits
			if giveUp := i == contestLimit; wrote == giveUp || contested() != giveUp {
				t.Errorf("round %d: written back %v, contested %v", i, wrote, contested())
			}
		}
	}
}

// The publisher pauses where it can't or mustn't write, loses nothing by it, and
// goes on afterwards.
func TestPublisherPauses(t *testing.T) {
	limited := &atproto.RateLimitError{Host: "memory.test", RetryAfter: time.Minute}
	broken := map[string]any{"$type": widgetCollection, "text": int64(5)}
	for name, c := range map[string]struct {
		begin, end func(r *replica)
		want       error // of publishing meanwhile
	}{
		"invalid record": {
			begin: func(r *replica) { r.repo.foreign(recordKey("o"), broken); r.deliverAll() },
			end:   func(r *replica) { r.repo.foreign(recordKey("o"), widgetRecord("mended")); r.deliverAll() },
		},
		"read access": {
			begin: func(r *replica) { r.mount(AccessRead) },
			end:   func(r *replica) { r.mount(AccessReadWrite) },
		},
		"rate limit": {
			begin: func(r *replica) { r.repo.setDown(limited) },
			end:   func(r *replica) { r.repo.setDown(nil) },
			want:  atproto.ErrRateLimited,
		},
		"outage": {
			begin: func(r *replica) { r.repo.setDown(atproto.ErrUnavailable) },
			end:   func(r *replica) { r.repo.setDown(nil) },
			want:  atproto.ErrUnavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := alone(t)
			c.begin(r)
			commits := r.repo.commits()
			for i := range 5 {
				if err := r.setPhase(r.ctx(), "o", fmt.Sprint("Phase", i)); err != nil {
					t.Fatalf("a status write is refused meanwhile: %v", err)
				}
				if err := r.store.publishOne(r.ctx(), r.ref("o")); !errors.Is(err, c.want) {
					t.Errorf("publishing meanwhile: %v, want %v", err, c.want)
				}
			}
			if n := r.repo.commits(); n != commits {
				t.Errorf("%d commits meanwhile", n-commits)
			}
			if left := r.keysBelow("intents"); len(left) > 0 {
				t.Errorf("intents left: %q", left)
			}
			c.end(r)
			commits = r.repo.commits()
			r.publish(t)
			checkInSync(t, r, "Phase4")
			if n := r.repo.commits(); n != commits+1 {
				t.Errorf("%d commits afterwards, want 1", n-commits)
			}
		})
	}
}
