package repostore

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// The horizon against the puts of writers and their settlement: see outrun.go. In
// each test a comparison of another replica finds that the view shows its record, and
// what was true before must not come into it any more.

// listed is what a consistent list on r shows of an object, "" where it doesn't.
func (r *replica) listed(t *testing.T, name string) string {
	t.Helper()
	all, err := r.list(r.ctx())
	if err != nil {
		t.Fatalf("a consistent list on %s: %v", r.name, err)
	}
	if all[name] == nil {
		return ""
	}
	return all[name].Spec.Text
}

// A put stands, its owner sleeps, the record is changed, and changed back.
func TestHorizonPassesAnOwnersPut(t *testing.T) {
	t.Run("an update whose record is its base again", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("update.before-view")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		view.release()
		if r := ended(t, "the update", w1); r.err != nil || !hasLabels(r.obj, "w1") {
			t.Errorf("the update: %+v, %v", r.obj, r.err)
		}
		if got := b.listed(t, "o"); got != "base" {
			t.Errorf("a consistent list shows %q, the record is %q since before it", got, "base")
		}
		if obj, st := converged(t, "o", a); !hasLabels(obj, "w1") || st.Rev != a.repo.head() {
			t.Errorf("labels %v at rev %s", obj.Labels, st.Rev)
		}
	})
	t.Run("an update whose record is its target again", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("update.before-view")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		a.repo.foreign(recordKey("o"), widgetRecord("target"))
		view.release()
		if r := ended(t, "the update", w1); r.err != nil {
			t.Error(r.err)
		}
		if obj, st := a.shown("o"); obj.Spec.Text != "target" || !hasLabels(obj, "w1") || st.Rev != a.repo.head() {
			t.Errorf("text %q, labels %v at rev %s", obj.Spec.Text, obj.Labels, st.Rev)
		}
	})
	t.Run("an update whose record stands", func(t *testing.T) {
		a, b, _ := begin(t)
		put := a.gates.stop("update.before-put")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		put.reached(t)
		a.repo.foreign(recordKey("p"), widgetRecord("p"))
		b.src.disconnect()
		b.shows(t, "base")
		a.repo.resetCounts()
		put.release()
		if r := ended(t, "the update", w1); r.err != nil || a.repo.count("prove") != 0 {
			t.Errorf("%v; asked %d times for a record that was put after the comparison", r.err, a.repo.count("prove"))
		}
	})
	t.Run("an update whose record is gone", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("update.before-view")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		a.repo.foreign(recordKey("o"), nil)
		view.release()
		if r := ended(t, "the update", w1); !apierrors.IsTimeout(r.err) {
			t.Errorf("the update: %v", r.err)
		}
		if obj, _ := converged(t, "o", a, b); obj != nil {
			t.Errorf("%+v is left", obj)
		}
	})
	t.Run("an update whose record is gone and whose intent another ended", func(t *testing.T) {
		a, b, _ := begin(t)
		view, record := a.gates.stop("update.before-view"), a.gates.stop("outrun.before-record")
		w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		a.repo.foreign(recordKey("o"), nil)
		view.release()
		record.reached(t)
		if _, err := a.etcd.Delete(t.Context(), a.store.keys.intent(a.ref("o"))); err != nil {
			t.Fatal(err)
		}
		record.release()
		if r := ended(t, "the update", w1); r.err == nil {
			t.Errorf("acknowledged with %+v: its labels are nowhere", r.obj)
		}
	})
	t.Run("a create whose record is gone", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("create.before-view")
		w1 := start(func() (*widget, error) { return a.create(a.ctx(), aWidget("n", "x")) })
		view.reached(t)
		a.repo.foreign(recordKey("n"), nil)
		b.src.disconnect()
		if got := b.listed(t, "n"); got != "" {
			t.Fatal(got)
		}
		view.release()
		if r := ended(t, "the create", w1); !apierrors.IsTimeout(r.err) {
			t.Errorf("the create: %v", r.err)
		}
		if got := b.listed(t, "n"); got != "" {
			t.Errorf("a consistent list shows %q, a phantom", got)
		}
		converged(t, "n", a)
	})
	t.Run("a deletion whose record was created again", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("delete.before-view")
		gone := start(func() (*widget, error) { return nil, a.delete(a.ctx(), "o") })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		next := a.gates.stop("delete.before-intent")
		view.release()
		next.reached(t)
		b.shows(t, "base") // not yet deleted, or there again
		next.release()
		if r := ended(t, "the deletion", gone); r.err != nil {
			t.Error(r.err)
		}
		if got := b.listed(t, "o"); got != "" || a.repo.value(recordKey("o")) != nil {
			t.Errorf("a list shows %q, the record is %v", got, a.repo.value(recordKey("o")))
		}
		converged(t, "o", a)
	})
	t.Run("a deletion whose record stays gone", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("delete.before-view")
		gone := start(func() (*widget, error) { return nil, a.delete(a.ctx(), "o") })
		view.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		b.src.disconnect()
		b.shows(t, "base")
		a.repo.foreign(recordKey("o"), nil)
		commits := a.repo.commits()
		view.release()
		if r := ended(t, "the deletion", gone); r.err != nil || a.repo.commits() != commits {
			t.Errorf("%v, %d more commits", r.err, a.repo.commits()-commits)
		}
		if obj, _ := converged(t, "o", a); obj != nil {
			t.Errorf("%+v is left", obj)
		}
	})
}

// An intent whose owner died is rolled forward, by what the record is or by what the
// stream showed, while another replica compares.
func TestHorizonPassesASettlement(t *testing.T) {
	for _, c := range []struct {
		what        string
		seen        bool // the settling replica has heard of the put
		then, shows string
		label       bool
	}{
		{"read before it was changed back", false, "base", "base", false},
		{"the stream showed it", true, "base", "base", true},
		{"the stream showed it, and it was edited again", true, "other", "other", true},
		{"the stream showed it, and it was deleted", true, "", "", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, b, _ := begin(t)
			view := a.gates.stop("update.before-view")
			w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
			view.reached(t)
			if c.seen {
				b.src.deliver(0, false)
			}
			a.clock.jump(time.Hour)
			write := b.gates.stop("settle.before-write")
			swept := start(func() (*widget, error) { b.hub.sweep(b.ctx(), atOnce); return nil, nil })
			write.reached(t)
			a.repo.foreign(recordKey("o"), widgetRecord("base"))
			a.src.disconnect()
			a.shows(t, "base")
			switch c.then {
			case "base":
			case "":
				a.repo.foreign(recordKey("o"), nil)
			default:
				a.repo.foreign(recordKey("o"), widgetRecord(c.then))
			}
			version := b.versionOf(t, "o")
			write.release()
			ended(t, "the sweep", swept)
			if c.then == "" {
				view.release()
				ended(t, "the owner", w1)
				if obj, _ := converged(t, "o", b); obj != nil {
					t.Errorf("%+v is left", obj)
				}
				return
			}
			if c.label && b.versionOf(t, "o") != version+1 {
				t.Errorf("the view went to the record's state in %d steps", b.versionOf(t, "o")-version)
			}
			if obj, st := b.shown("o"); obj.Spec.Text != c.shows && c.seen || obj.Spec.Text == "target" || hasLabels(obj, "w1") != c.label ||
				c.label && st.Rev != a.repo.head() {
				t.Errorf("text %q, labels %v, at rev %s", obj.Spec.Text, obj.Labels, st.Rev)
			}
			if got := a.listed(t, "o"); got != c.shows {
				t.Errorf("a consistent list shows %q, the record is %q", got, c.shows)
			}
			view.release()
			if r := ended(t, "the owner", w1); r.err != nil {
				t.Error(r.err) // it finds itself, or applies its change again
			}
			if obj, _ := converged(t, "o", b); !hasLabels(obj, "w1") {
				t.Errorf("labels %v", obj.Labels)
			}
		})
	}
	t.Run("a deletion", func(t *testing.T) {
		a, b, _ := begin(t)
		view := a.gates.stop("delete.before-view")
		gone := start(func() (*widget, error) { return nil, a.delete(a.ctx(), "o") })
		view.reached(t)
		a.clock.jump(time.Hour)
		write := b.gates.stop("settle.before-write")
		swept := start(func() (*widget, error) { b.hub.sweep(b.ctx(), atOnce); return nil, nil })
		write.reached(t)
		a.repo.foreign(recordKey("o"), widgetRecord("base"))
		a.src.disconnect()
		a.shows(t, "base")
		write.release()
		ended(t, "the sweep", swept)
		a.shows(t, "base")
		view.release()
		if r := ended(t, "the owner", gone); r.err != nil {
			t.Error(r.err)
		}
		converged(t, "o", b)
	})
}

// An owner that can't ask any more what became of its put leaves word that it stood:
// who settles the intent needs no event, and an edit over the put hides no private
// part.
func TestOwnerLeavesWordOfItsPut(t *testing.T) {
	a, b, _ := begin(t)
	view := a.gates.stop("update.before-view")
	w1 := start(func() (*widget, error) { return a.update(a.ctx(), "o", "", public("target", "w1")) })
	view.reached(t)
	edit := a.repo.foreign(recordKey("o"), widgetRecord("other"))
	if err := b.m().raiseHorizon(b.ctx(), edit.Rev); err != nil {
		t.Fatal(err)
	}
	a.repo.setDown(atproto.ErrUnavailable)
	view.release()
	if r := ended(t, "the update", w1); !apierrors.IsTimeout(r.err) {
		t.Errorf("the update: %v", r.err)
	}
	a.repo.setDown(nil)
	a.clock.jump(time.Hour)
	b.hub.sweep(b.ctx(), atOnce) // it has heard of nothing
	if obj, st := b.shown("o"); obj.Spec.Text != "other" || !hasLabels(obj, "w1") || st.Rev != edit.Rev {
		t.Errorf("text %q, labels %v, at rev %s", obj.Spec.Text, obj.Labels, st.Rev)
	}
	converged(t, "o", a, b)
}
