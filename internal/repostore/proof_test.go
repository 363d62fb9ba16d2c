package repostore

import (
	"testing"
)

// An edit made elsewhere comes in although private writes change the view at each try:
// what the PDS has proved stays proved.
func TestIngestOfAnObjectThatIsWrittenAllTheTime(t *testing.T) {
	a, b, _ := begin(t)
	a.repo.foreign(recordKey("o"), widgetRecord("edited"))
	a.repo.resetCounts()
	write := b.gates.stop("ingest.before-write")
	read := start(func() (*widget, error) { return b.get(b.ctx(), "o") })
	for i, label := range []string{"one", "two", "three"} {
		// The first try has asked the PDS by then, each further one has looked again.
		write.reached(t)
		if _, err := a.label(a.ctx(), "o", label); err != nil {
			t.Fatal(err)
		}
		done := write
		if i < 2 {
			write = b.gates.stop("ingest.before-write")
		}
		done.release()
	}
	r := ended(t, "the read", read)
	if r.err != nil || r.obj.Spec.Text != "edited" || !hasLabels(r.obj, "one", "two", "three") {
		t.Errorf("%+v, %v", r.obj, r.err)
	}
	if n := a.repo.count("prove"); n != 1 {
		t.Errorf("%d proofs", n)
	}
}

// What came between the proof and the write makes the ingest ask again, where it can
// have made the proof old.
func TestProofsThatHoldNoMore(t *testing.T) {
	for what, between := range map[string]func(a *replica) error{
		"a comparison": func(a *replica) error {
			a.repo.foreign(recordKey("o"), widgetRecord("new"))
			return a.m().raiseHorizon(a.ctx(), a.repo.head())
		},
		"a public write": func(a *replica) error {
			_, err := a.update(a.ctx(), "o", "", public("new", "l"))
			return err
		},
		"a deletion": func(a *replica) error { return a.delete(a.ctx(), "o") },
	} {
		t.Run(what, func(t *testing.T) {
			a, b, _ := begin(t)
			a.repo.foreign(recordKey("o"), widgetRecord("edited"))
			write := b.gates.stop("ingest.before-write")
			late := start(func() (*widget, error) {
				return nil, b.store.ingest(b.ctx(), b.m(), recordKey("o"), ingestOptions{wait: true})
			})
			write.reached(t)
			if err := between(a); err != nil {
				t.Fatal(err)
			}
			a.repo.resetCounts()
			write.release()
			if r := ended(t, "the ingest", late); r.err != nil {
				t.Fatal(r.err)
			}
			if a.repo.count("prove") == 0 {
				t.Error("the PDS was not asked again")
			}
			if obj, _ := b.shown("o"); what != "a deletion" && obj.Spec.Text != "new" || what == "a deletion" && obj != nil {
				t.Errorf("%+v", obj)
			}
		})
	}
}

// One condition a case: the snapshot that is read again differs from the one before the
// proof in nothing else.
func TestProofHolds(t *testing.T) {
	seen := func(change func(*snapshot)) snapshot {
		sn := snapshot{view: view{obj: &widget{}, revision: 5, stamp: stamp{URI: "u", CID: "c", Rev: "2"}}, horizonRevision: 3, head: 7}
		sn.tombstones = []*intent{{modRevision: 6}}
		if change != nil {
			change(&sn)
		}
		return sn
	}
	p := &proof{before: seen(nil), rev: "3"}
	for what, c := range map[string]struct {
		change func(*snapshot)
		holds  bool
	}{
		"a private write":     {func(sn *snapshot) { sn.revision, sn.head = 9, 9 }, true},
		"another record":      {func(sn *snapshot) { sn.stamp.URI = "v" }, false},
		"other content":       {func(sn *snapshot) { sn.stamp.CID = "d" }, false},
		"a later rev":         {func(sn *snapshot) { sn.stamp.Rev = "3" }, false},
		"an intent":           {func(sn *snapshot) { sn.intent = &intent{} }, false},
		"a dropped intent":    {func(sn *snapshot) { sn.tombstones = append(sn.tombstones, &intent{modRevision: 8}) }, false},
		"a higher horizon":    {func(sn *snapshot) { sn.horizonRevision = 8 }, false},
		"a view that is gone": {func(sn *snapshot) { sn.view = view{} }, false},
	} {
		if got := p.holds(seen(c.change)); got != c.holds {
			t.Errorf("after %s: %v", what, got)
		}
	}
	if (*proof)(nil).holds(seen(nil)) {
		t.Error("nothing was proved")
	}
	for what, p := range map[string]*proof{
		"an intent was open":      {before: seen(func(sn *snapshot) { sn.intent = &intent{} }), rev: "3"},
		"there was no view":       {before: seen(func(sn *snapshot) { sn.revision, sn.obj = 0, nil }), rev: "3"},
		"it says nothing of late": {before: seen(nil), rev: "2"},
	} {
		if p.holds(seen(nil)) {
			t.Errorf("%s, and the proof holds", what)
		}
	}
}
