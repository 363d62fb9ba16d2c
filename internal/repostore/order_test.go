package repostore

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"pgregory.net/rapid"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// TestOrder makes API writes, edits elsewhere, deletions, re-creations, restarts
// and losses of the views in any order, while events come late, twice, out of
// order or never, and answers of the PDS are lost. At each moment the objects
// keep the rules of uid, generation and resourceVersion; in the end the views are
// what the repository holds.
func TestOrder(t *testing.T) {
	t.Parallel()
	sharedEtcd(t)
	rapid.Check(t, func(rt *rapid.T) {
		o := newOrderRun(t, rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":           o.rules,
			"create":     o.create,
			"update":     o.update,
			"label":      o.label,
			"delete":     o.delete,
			"status":     o.status,
			"publish":    o.publish,
			"edit":       o.edit,
			"break":      o.breakRecord,
			"erase":      o.erase,
			"deliver":    o.deliver,
			"disorder":   o.disorder,
			"ingest":     o.ingest,
			"disconnect": o.disconnect,
			"list":       o.list,
			"restart":    o.restart,
			"wipe":       o.wipeViews,
			"fault":      o.fault,
			"wait":       o.wait,
		})
		o.settle()
	})
}

var orderNames = []string{"a", "b", "c"}

// orderRun is one sequence.
type orderRun struct {
	*world
	rt       *rapid.T
	replicas []*replica
	n        int
	next     memFault // of the next write
	labels   map[string][]string
	seen     map[string]*widget // as of the last step
	revs     map[string]string
	lives    map[string]map[string]bool // name → uids that are over
}

func newOrderRun(t *testing.T, rt *rapid.T) *orderRun {
	w := newWorld(t)
	o := &orderRun{world: w, rt: rt, labels: map[string][]string{}, seen: map[string]*widget{}, revs: map[string]string{}, lives: map[string]map[string]bool{}}
	w.repo.hook = func(_ context.Context, call string, _ atproto.Key) (f memFault) {
		if call == "put" || call == "delete" {
			f, o.next = o.next, memFault{}
		}
		return f
	}
	for _, name := range orderNames {
		o.lives[name] = map[string]bool{}
	}
	o.replicas = []*replica{o.start("A"), o.start("B")}
	return o
}

// start starts a replica whose pauses let the time pass: whoever waits for a lost
// write waits for its term.
func (o *orderRun) start(name string) *replica {
	r := o.world.replica(name)
	r.hub.failpoint = func(point string) bool {
		if point == "pause" {
			o.clock.jump(time.Second)
		}
		return point == "pause"
	}
	return r
}

func (o *orderRun) name(rt *rapid.T) string { return rapid.SampledFrom(orderNames).Draw(rt, "name") }

func (o *orderRun) on(rt *rapid.T) *replica {
	return o.replicas[rapid.IntRange(0, len(o.replicas)-1).Draw(rt, "replica")]
}

func (o *orderRun) id(kind string) string {
	o.n++
	return fmt.Sprint(kind, o.n)
}

// expected fails the run on an error that the operation must not answer.
func expected(rt *rapid.T, err error) {
	if err != nil && !storage.IsNotFound(err) && !storage.IsExist(err) && !apierrors.IsConflict(err) && !apierrors.IsTimeout(err) {
		rt.Fatalf("unexpected error: %v", err)
	}
}

func (o *orderRun) create(rt *rapid.T) {
	r, name, id := o.on(rt), o.name(rt), o.id("create")
	w := aWidget(name, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "text"))
	w.UID = types.UID("uid-" + id)
	setLabel(w, id)
	obj, err := r.create(r.ctx(), w)
	expected(rt, err)
	if err == nil {
		if obj.UID != w.UID {
			rt.Fatalf("created with uid %s, answered %s", w.UID, obj.UID)
		}
		o.labels[string(w.UID)] = []string{id}
	}
}

func (o *orderRun) change(rt *rapid.T, r *replica, name, id string, f func(*widget)) {
	obj, err := r.update(r.ctx(), name, "", func(w *widget) error {
		f(w)
		setLabel(w, id)
		return nil
	})
	expected(rt, err)
	if err == nil {
		o.labels[string(obj.UID)] = append(o.labels[string(obj.UID)], id)
	}
}

func (o *orderRun) update(rt *rapid.T) {
	text := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "text")
	o.change(rt, o.on(rt), o.name(rt), o.id("update"), func(w *widget) { w.Spec.Text = text })
}

func (o *orderRun) label(rt *rapid.T) {
	o.change(rt, o.on(rt), o.name(rt), o.id("label"), func(*widget) {})
}

func (o *orderRun) status(rt *rapid.T) {
	id := o.id("status")
	o.change(rt, o.on(rt), o.name(rt), id, func(w *widget) { w.Status.Phase = id })
}

func (o *orderRun) publish(rt *rapid.T) {
	r := o.on(rt)
	if err := r.store.publishOne(r.ctx(), r.ref(o.name(rt))); err != nil {
		rt.Logf("publish: %v", err) // it would be tried again
	}
}

func (o *orderRun) delete(rt *rapid.T) {
	r, name := o.on(rt), o.name(rt)
	err := r.delete(r.ctx(), name)
	expected(rt, err)
	if obj, _ := r.shown(name); err == nil && obj != nil {
		rt.Fatalf("%s is there after its deletion", name)
	}
}

func (o *orderRun) edit(rt *rapid.T) {
	record := widgetRecord(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "text"))
	if rapid.Bool().Draw(rt, "keeps status") {
		if status := o.repo.value(recordKey("a"))["status"]; status != nil {
			record["status"] = status
		}
	}
	o.repo.foreign(recordKey(o.name(rt)), record)
}

func (o *orderRun) breakRecord(rt *rapid.T) {
	o.repo.foreign(recordKey(o.name(rt)), map[string]any{"$type": widgetCollection})
}

func (o *orderRun) erase(rt *rapid.T) { o.repo.foreign(recordKey(o.name(rt)), nil) }

func (o *orderRun) deliver(rt *rapid.T) { o.on(rt).src.deliver(0, false) }

// disorder is what can be wrong with one event.
func (o *orderRun) disorder(rt *rapid.T) {
	src := o.on(rt).src
	n := src.waiting()
	if n == 0 {
		rt.Skip("no event") // rapid draws another step in its place: no check is left out
	}
	i := rapid.IntRange(0, n-1).Draw(rt, "event")
	switch rapid.SampledFrom([]string{"late", "twice", "never"}).Draw(rt, "what") {
	case "late":
		src.deliver(i, false)
	case "twice":
		src.deliver(i, true)
	case "never":
		src.drop(i)
	}
}

func (o *orderRun) ingest(rt *rapid.T) {
	r := o.on(rt)
	if err := r.m().catchUp(r.ctx()); err != nil {
		rt.Logf("ingest: %v", err)
	}
}

func (o *orderRun) disconnect(rt *rapid.T) {
	src := o.on(rt).src
	if src.Connected() {
		src.disconnect()
	} else {
		src.reconnect()
	}
}

// list is consistent: it shows what the repository holds now.
func (o *orderRun) list(rt *rapid.T) { o.listOn(rt, o.on(rt)) }

func (o *orderRun) listOn(rt *rapid.T, r *replica) {
	all, err := r.list(r.ctx())
	if err != nil {
		rt.Fatalf("list: %v", err)
	}
	for _, name := range orderNames {
		record := o.repo.value(recordKey(name))
		switch {
		case (all[name] == nil) != (record == nil):
			rt.Fatalf("list: %s is %v, its record %v", name, all[name], record)
		case record != nil && valid(record) && !declares(all[name], record):
			rt.Fatalf("list: %s shows %q, its record %v", name, all[name].Spec.Text, record)
		}
	}
}

func (o *orderRun) restart(rt *rapid.T) {
	i := rapid.IntRange(0, len(o.replicas)-1).Draw(rt, "replica")
	o.replicas[i] = o.start(o.id("R"))
}

// wipeViews loses the views, and starts all replicas anew: labels are private and
// go with the views.
func (o *orderRun) wipeViews(*rapid.T) {
	o.wipe()
	clear(o.labels)
	clear(o.revs)
	for name, w := range o.seen {
		if w != nil {
			w.Generation = 0
			o.seen[name] = w
		}
	}
	for i := range o.replicas {
		o.replicas[i] = o.start(o.id("R"))
	}
}

func (o *orderRun) fault(rt *rapid.T) {
	if o.next = (memFault{lost: true}); rapid.Bool().Draw(rt, "lands late") {
		o.next = memFault{late: true}
	}
}

func (o *orderRun) wait(rt *rapid.T) {
	o.clock.jump(time.Minute)
	if rapid.Bool().Draw(rt, "late writes land") {
		o.repo.land()
	}
	r := o.on(rt)
	r.hub.sweep(r.ctx(), atOnce)
}
