package repostore

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	scheduleCount = flag.Int("schedules", 0, "how many schedules of each plan TestSchedules runs (0: a default that takes less than a minute)")
	scheduleSeed  = flag.Uint64("schedules.seed", 1, "the first seed of TestSchedules")
)

// TestSchedules runs two replicas, their clients, a foreign editor and crashes in
// the order that a seed chooses, with every transaction of etcd and every call to
// the PDS as a point where another may go first, and holds the histories of the
// views and of the repository against the invariants of doc.go. A failure prints
// its seed and the simplest schedule that fails too.
func TestSchedules(t *testing.T) {
	t.Parallel()
	all := []string{"create", "delete", "both", "pub", "priv", "same", "ssa", "secret", "status", "publish"}
	writes := []string{"both", "pub", "priv", "same"}
	plans := []struct {
		name string
		plan plan
	}{
		{"writers", plan{writers: 3, kinds: writes}},
		{"writers and crashes", plan{writers: 3, kinds: append(writes, "sweep"), crashes: 2, jumps: 2}},
		{"create and delete", plan{writers: 3, readers: 1, kinds: []string{"create", "delete", "both", "ssa"}}},
		{"create, delete and crashes", plan{writers: 3, kinds: []string{"create", "delete", "both", "ssa", "sweep"}, crashes: 2, jumps: 2}},
		{"foreign editor", plan{writers: 3, edits: 3, readers: 2, kinds: all, drops: true}},
		{"back and forth", plan{writers: 1, edits: 2, readers: 3, kinds: []string{"sweep", "pub"}, editKinds: []string{"add", "base"}}},
		{"same creations", plan{writers: 2, edits: 3, kinds: []string{"create", "ssa", "delete"}, editKinds: []string{"base", "delete"}, jumps: 1, empty: true}},
		{"lost answers", plan{writers: 3, kinds: []string{"both", "priv", "secret", "create", "delete", "sweep"}, faults: 3, jumps: 2}},
		{"late writes", plan{writers: 3, kinds: []string{"both", "priv", "secret", "create", "delete", "sweep"}, faults: 2, jumps: 3, late: true}},
		{"private writes under open intents", plan{writers: 4, kinds: []string{"both", "both", "priv", "secret", "status", "publish", "delete"}, faults: 2, jumps: 2, crashes: 1}},
		{"late writes under private ones", plan{writers: 4, edits: 1, kinds: []string{"both", "priv", "secret", "status", "publish"}, editKinds: []string{"add", "base"}, faults: 2, jumps: 2, late: true}},
		{"known bytes", plan{writers: 2, edits: 2, kinds: []string{"same", "priv", "sweep"}, editKinds: []string{"same", "base"}, jumps: 2}},
		{"slow owners", plan{writers: 3, edits: 2, kinds: all, jumps: 3}},
		{"finalizers", plan{writers: 3, edits: 3, kinds: []string{"delete", "finalize", "both", "priv"}, finalizer: true, drops: true}},
		{"bindings", plan{writers: 4, edits: 3, readers: 1, kinds: []string{"unbind", "bind", "bind to", "follow", "unfollow", "both", "priv", "delete", "create"}, bindings: true}},
		{"bindings, crashes and lost answers", plan{writers: 4, edits: 2, kinds: []string{"unbind", "unbind", "bind", "bind to", "follow", "both", "delete", "sweep"}, crashes: 1, faults: 2, jumps: 2, bindings: true}},
		{"a collection", plan{writers: 3, edits: 3, readers: 2, kinds: []string{"create", "both", "priv", "delete", "ssa"}, collection: 100, crashes: 1, drops: true}},
		{"a full collection", plan{writers: 2, edits: 4, readers: 1, kinds: []string{"create", "delete", "priv"}, editKinds: []string{"add", "other", "delete", "otherGone"}, collection: 1, crashes: 1}},
		{"a full workspace", plan{writers: 3, edits: 5, readers: 1, kinds: []string{"delete", "priv", "both", "sweep"}, editKinds: []string{"add", "other", "delete", "otherGone"}, room: 1, crashes: 1, drops: true}},
		{"a collection in a full workspace", plan{writers: 2, edits: 5, readers: 1, kinds: []string{"delete", "priv"}, editKinds: []string{"add", "other", "delete", "otherGone"}, collection: 100, room: 1, crashes: 1}},
		{"delayed events", plan{writers: 2, edits: 4, readers: 3, kinds: []string{"priv", "pub", "sweep"}, editKinds: []string{"add", "base", "add", "delete"}, jumps: 1}},
		{"everything", plan{writers: 3, edits: 3, readers: 1, kinds: append(all, "sweep", "finalize"), crashes: 1, faults: 2, jumps: 2, drops: true}},
	}
	n := *scheduleCount
	if n == 0 {
		n = 250
		if raced {
			n = 25
		}
	}
	for _, p := range plans {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			e := newScheduler(t)
			begun := time.Now()
			for seed := *scheduleSeed; seed < *scheduleSeed+uint64(n); seed++ {
				c := seeded(seed)
				found, trace := e.run(p.plan, c)
				if len(found) > 0 {
					e.report(p.plan, seed, c.made, found, trace)
					return
				}
			}
			t.Logf("%d schedules, %s each", n, (time.Since(begun) / time.Duration(n)).Round(time.Microsecond))
		})
	}
}

// report prints a failing schedule in its simplest form.
func (e *scheduler) report(p plan, seed uint64, made []int, found, trace []string) {
	e.t.Errorf("seed %d: %s", seed, strings.Join(found, "\n\t"))
	kind := ruleOf(found[0])
	list := shrink(made, func(list []int) bool {
		again, tr := e.run(p, replayed(list))
		for _, f := range again {
			if ruleOf(f) == kind {
				found, trace = again, tr
				return true
			}
		}
		return false
	}, 30*time.Second)
	e.t.Errorf("simplest form, choices %v:\n\t%s\n\n\t%s", list, strings.Join(found, "\n\t"), strings.Join(trace, "\n\t"))
}

// ruleOf is a violation without the names and numbers in it.
func ruleOf(violation string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, fmt.Sprintf("%.60s", violation))
}
