package repostore

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const sideDID = "did:plc:carolcarolcarolcarolcarol"

// aCollection makes widgets appear.
func aCollection(name string, most int) *Collection {
	yes, no := true, false
	return &Collection{
		Owner: metav1.OwnerReference{APIVersion: "test/v1", Kind: "Collection", Name: name, UID: types.UID("uid-" + name), Controller: &yes, BlockOwnerDeletion: &no},
		Label: "test/collection", Value: name, MaxItems: most,
	}
}

// collector is a replica whose second repository, side, is not the default.
type collector struct {
	*replica
	side *memRepo
	src2 *memSource
}

// collecting mounts side beside the default; a second replica shares its repository.
func collecting(w *world, name string, side *memRepo, a Access) *collector {
	c := &collector{replica: w.replica(name), side: side, src2: newMemSource(side)}
	c.src2.stall()
	c.mountSide(a)
	return c
}

func (c *collector) mountSide(a Access, change ...func(*MountedRepo)) {
	m := MountedRepo{Workspace: c.ws, Name: "side", Repo: c.side, Source: c.src2, Access: a}
	for _, f := range change {
		f(&m)
	}
	c.hub.SetRepo(m)
	c.src2.Subscribe(c.side.did, c.s().receive)
}

func (c *collector) s() *mount { return c.hub.mountNamed(c.ws, "side") }

// deliverSide ingests what side has announced.
func (c *collector) deliverSide() {
	c.t.Helper()
	for c.src2.waiting() > 0 {
		c.src2.deliver(0, false)
	}
	if err := c.s().catchUp(c.ctx()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *collector) collect(col *Collection) {
	c.hub.SetCollection(c.ws, "side", widgetCollection, col)
}

// names lists, with a barrier, what is served of side.
func (c *collector) names() []string {
	c.t.Helper()
	all, err := c.list(c.ctx())
	if err != nil {
		c.t.Fatal(err)
	}
	for name, obj := range all {
		if obj.Spec.Record.Repo != "side" {
			delete(all, name)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (c *collector) members() Members {
	c.t.Helper()
	m, ok, err := c.hub.Members(c.ctx(), c.ws, "side", widgetCollection)
	if err != nil || !ok {
		c.t.Fatalf("members: %v, %v", ok, err)
	}
	return m
}

func (c *collector) shows(when string, names ...string) {
	c.t.Helper()
	if got := c.names(); !slices.Equal(got, names) {
		c.t.Errorf("%s: %q, want %q", when, got, names)
	}
}

func (c *collector) isChild(name string, of *Collection) {
	c.t.Helper()
	obj, _ := c.shown(name)
	if obj == nil {
		c.t.Errorf("%s has no view", name)
		return
	}
	owner := metav1.GetControllerOf(obj)
	if of == nil && (owner != nil || len(obj.Labels) > 0) {
		c.t.Errorf("%s is a child: %+v", name, obj.ObjectMeta)
	}
	if of != nil && (owner == nil || *owner.Controller != true || owner.UID != of.Owner.UID || obj.Labels[of.Label] != of.Value) {
		c.t.Errorf("%s is no child: %+v", name, obj.ObjectMeta)
	}
}

func uri(rkey string) string { return recordURI{sideDID, recordKey(rkey)}.String() }

// A collection makes the records that are there appear, and those that come; what
// else has the record or the name keeps it; a deletion elsewhere takes the child, and
// a record that comes again is a new one.
func TestCollection(t *testing.T) {
	c := collecting(newWorld(t), "A", newMemRepo(sideDID), AccessReadWrite)
	for _, name := range []string{"one", "bound", "taken", "Not_A_Name", "detached"} {
		c.side.foreign(recordKey(name), widgetRecord(name))
	}
	if _, err := c.create(c.ctx(), aWidget("taken", "mine")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bound", "detached"} {
		if _, err := c.create(c.ctx(), following("by-"+name, "side", uri(name))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.update(c.ctx(), "by-detached", "", func(w *widget) error { w.Spec.Record = widgetBinding{}; return nil }); err != nil {
		t.Fatal(err)
	}
	c.deliverSide()
	c.shows("before", "by-bound")
	col := aCollection("col", 100)
	c.collect(col)
	if c.members().Compared {
		t.Error("compared at once")
	}
	c.deliverSide()
	odd := NameOf("Not_A_Name")
	c.shows("mounted", "by-bound", "one", odd)
	c.isChild("one", col)
	c.isChild("by-bound", nil)
	if obj, _ := c.shown(odd); obj.Spec.Record.URI != uri("Not_A_Name") {
		t.Errorf("%+v", obj.Spec)
	}
	want := []Member{
		{URI: uri("Not_A_Name"), Name: odd, Child: true}, {URI: uri("bound"), Name: "by-bound"},
		{URI: uri("one"), Name: "one", Child: true}, {URI: uri("taken"), Name: "taken", Conflict: true},
	}
	got := c.members()
	for i := range got.Items {
		if i := &got.Items[i]; (i.CID == "") != i.Conflict {
			t.Errorf("cid of %+v", i)
		}
		got.Items[i].CID, got.Items[i].UID = "", ""
	}
	if !slices.Equal(got.Items, want) || !got.Compared || got.Beyond != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.side.foreign(recordKey("two"), widgetRecord("two"))
	c.side.foreign(recordKey("one"), nil)
	c.shows("changed elsewhere", "by-bound", odd, "two")
	before, _ := c.shown("two")
	c.side.foreign(recordKey("two"), nil)
	c.deliverSide()
	c.side.foreign(recordKey("two"), widgetRecord("again"))
	c.deliverSide()
	if again, _ := c.shown("two"); again == nil || again.UID == before.UID || again.Spec.Text != "again" {
		t.Errorf("again: %+v", again)
	}
	c.isChild("two", col)
	if err := c.delete(c.ctx(), "taken"); err != nil {
		t.Fatal(err)
	}
	c.deliverSide()
	c.isChild("taken", col)
	if _, err := c.update(c.ctx(), "two", "", public("written", "l")); err != nil || c.side.value(recordKey("two"))["text"] != "written" {
		t.Errorf("a write: %v", err)
	}
	c.collect(nil)
	c.side.foreign(recordKey("three"), widgetRecord("three"))
	c.deliverSide()
	c.shows("unmounted", "by-bound", odd, "taken", "two")
}

// At its bound a collection makes no further object, by whichever way a record comes,
// and remembers the others: the next appears as soon as there is room.
func TestCollectionBound(t *testing.T) {
	w := newWorld(t)
	side := newMemRepo(sideDID)
	c := collecting(w, "A", side, AccessReadWrite)
	for _, name := range []string{"a", "c", "d"} {
		side.foreign(recordKey(name), widgetRecord(name))
	}
	col := aCollection("col", 2)
	c.collect(col)
	full := func(when string, beyond int, names ...string) {
		t.Helper()
		c.shows(when, names...)
		if m := c.members(); m.Beyond != beyond || len(m.Items) != len(names) {
			t.Errorf("%s: %+v", when, m)
		}
	}
	full("compared", 1, "a", "c")
	side.foreign(recordKey("b"), widgetRecord("b"))
	full("a record came", 2, "a", "c")
	side.resetCounts()
	for range 3 {
		if err := c.s().catchUp(c.ctx()); err != nil {
			t.Fatal(err)
		}
	}
	if n := side.count("prove"); n != 0 {
		t.Errorf("%d requests for records that want room", n)
	}
	side.foreign(recordKey("d"), nil)
	full("one of those that want room is gone", 1, "a", "c")
	side.foreign(recordKey("a"), nil)
	c.deliverSide()
	full("room", 0, "b", "c")
	for _, name := range []string{"e", "f", "g"} {
		side.foreign(recordKey(name), widgetRecord(name))
	}
	full("full again", 3, "b", "c")
	more := *col
	more.MaxItems = 4
	c.collect(&more)
	c.deliverSide()
	full("raised", 1, "b", "c", "e", "f")
	// What is bound by name is not held back, and counts.
	if _, err := c.create(c.ctx(), following("mine", "side", uri("g"))); err != nil {
		t.Fatal(err)
	}
	full("bound by name", 0, "b", "c", "e", "f", "mine")
	// What wants a name doesn't want room, whatever is compared.
	if _, err := c.create(c.ctx(), aWidget("z", "mine")); err != nil {
		t.Fatal(err)
	}
	side.foreign(recordKey("z"), widgetRecord("z"))
	c.deliverSide()
	c.s().progress.lost("a test")
	c.deliverSide()
	if m := c.members(); m.Beyond != 0 || len(m.Items) != 6 || !m.Items[5].Conflict {
		t.Errorf("a name is taken: %+v", m)
	}
	if err := c.delete(c.ctx(), "z"); err != nil {
		t.Fatal(err)
	}
	side.foreign(recordKey("z"), nil)
	full("it is gone", 0, "b", "c", "e", "f", "mine")
	// A new start knows the same.
	side.foreign(recordKey("h"), widgetRecord("h"))
	next := collecting(w, "B", side, AccessReadWrite)
	next.collect(&more)
	next.shows("the next start", "b", "c", "e", "f", "mine")
	if m := next.members(); m.Beyond != 1 {
		t.Errorf("%+v", m)
	}
}

// The bound is exact: of two replicas that both find room for the last record, one
// makes its object.
func TestCollectionBoundOfTwoReplicas(t *testing.T) {
	w := newWorld(t)
	side := newMemRepo(sideDID)
	a, b := collecting(w, "A", side, AccessReadWrite), collecting(w, "B", side, AccessReadWrite)
	for _, r := range []*collector{a, b} {
		r.collect(aCollection("col", 1))
		r.deliverSide()
	}
	side.foreign(recordKey("x"), widgetRecord("x"))
	side.foreign(recordKey("y"), widgetRecord("y"))
	g := a.gates.stop("appear.before-write")
	first := start(func() (*widget, error) { return nil, a.store.ingest(a.ctx(), a.s(), recordKey("x"), ingestOptions{}) })
	g.reached(t)
	if err := b.store.ingest(b.ctx(), b.s(), recordKey("y"), ingestOptions{}); err != nil {
		t.Fatal(err)
	}
	g.release()
	if r := ended(t, "A", first); r.err != nil {
		t.Fatal(r.err)
	}
	a.shows("both", "y")
	if m := a.members(); m.Beyond != 1 {
		t.Errorf("%+v", m)
	}
}

// A big repository is made from its export, up to near the bound, and the rest one by
// one; what is beyond costs no request.
func TestCollectionOfABigRepository(t *testing.T) {
	w := newWorld(t)
	side := newMemRepo(sideDID)
	for i := range 400 {
		side.foreign(recordKey(fmt.Sprintf("r%03d", i)), widgetRecord("x"))
	}
	c := collecting(w, "A", side, AccessRead)
	c.collect(aCollection("col", 200))
	names := c.names()
	if len(names) != 200 || names[199] != "r199" {
		t.Errorf("%d: %v", len(names), names)
	}
	if m := c.members(); m.Beyond != 200 {
		t.Errorf("%d beyond", m.Beyond)
	}
	if n := side.count("prove"); n != roomMargin {
		t.Errorf("%d records were read by themselves", n)
	}
}

// With the views lost, children are children again, with their old uids; also beyond
// the bound, which is lower by now; and what was bound by name is nobody's child.
func TestWipedChildrenAreRebuilt(t *testing.T) {
	for _, n := range []int{3, 60} { // by ingest, from the export
		w := newWorld(t)
		side := newMemRepo(sideDID)
		for i := range n {
			side.foreign(recordKey(fmt.Sprintf("r%02d", i)), widgetRecord("x"))
		}
		a := collecting(w, "A", side, AccessReadWrite)
		if _, err := a.create(a.ctx(), following("mine", "side", uri("r01"))); err != nil {
			t.Fatal(err)
		}
		col := aCollection("col", 1000)
		a.collect(col)
		before := a.uids()
		if len(before) != n {
			t.Fatalf("%d objects", len(before))
		}
		w.wipe()
		side.foreign(recordKey("r00"), widgetRecord("edited meanwhile"))
		b := w.replica("B")
		next := &collector{replica: b, side: side, src2: newMemSource(side)}
		lower := *col
		lower.MaxItems = 1
		next.collect(&lower)
		next.mountSide(AccessReadWrite)
		if after := next.uids(); !maps.Equal(before, after) {
			t.Errorf("before %v\nafter %v", before, after)
		}
		next.isChild("r00", col)
		next.isChild("r02", col)
		next.isChild("mine", nil)
		// Children of a collection that is gone are nobody's.
		w.wipe()
		last := &collector{replica: w.replica("C"), side: side, src2: newMemSource(side)}
		last.collect(aCollection("another", 1000))
		last.mountSide(AccessReadWrite)
		if after := last.uids(); !maps.Equal(before, after) {
			t.Errorf("before %v\nafter %v", before, after)
		}
		last.isChild("r00", nil)
	}
}

// A replica that has not seen the deletion of a collection makes no child of it any
// more, neither by ingest nor from an export.
func TestClosedCollection(t *testing.T) {
	for _, n := range []int{1, 60} {
		w := newWorld(t)
		side := newMemRepo(sideDID)
		c := collecting(w, "A", side, AccessReadWrite)
		col := aCollection("col", 1000)
		if err := c.hub.CloseCollection(c.ctx(), c.ws, col.Owner.Name, col.Owner.UID); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			side.foreign(recordKey(fmt.Sprintf("r%02d", i)), widgetRecord("x"))
		}
		c.collect(col)
		c.shows("closed")
		if c.s().collection(widgetCollection) != nil {
			t.Error("it goes on collecting")
		}
		resp, err := w.etcd.Get(t.Context(), w.prefix+"/uids/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || resp.Count != 0 {
			t.Errorf("%d identities, %v", resp.Count, err)
		}
	}
}
