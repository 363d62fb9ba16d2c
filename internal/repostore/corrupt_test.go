package repostore

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// corruptible is a Pod with a record, and how to delete it unsafely.
type corruptible struct {
	*suiteEnv
	t     *testing.T
	store storage.Interface // as the REST layer sees it
}

const corruptKey = "/pods/test-ns/foo"

func newCorruptible(t *testing.T) *corruptible {
	c := &corruptible{suiteEnv: newSuiteEnv(t, suiteOptions{}, false), t: t}
	c.store = suiteStore{c.suiteEnv.store.forREST(), c.suiteEnv}
	c.create()
	// The first comparison forgets identities without a view.
	m := c.hub.mountNamed("test-ns", "test-ns")
	await(t, "the first comparison", func() (bool, error) { return m.progress.knownRev() != "", nil })
	return c
}

func (c *corruptible) create() {
	c.t.Helper()
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foo", Namespace: "test-ns", UID: "first"}}
	if err := c.store.Create(c.t.Context(), corruptKey, pod, &example.Pod{}, 0); err != nil {
		c.t.Fatal(err)
	}
}

func (c *corruptible) get() (*example.Pod, error) {
	out := &example.Pod{}
	return out, c.store.Get(c.t.Context(), corruptKey, storage.GetOptions{}, out)
}

func (c *corruptible) delete() error {
	return c.store.Delete(c.t.Context(), corruptKey, &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{ExpectTransformOrDecodeError: true})
}

func (c *corruptible) wantNoRecord() {
	c.t.Helper()
	rec, _, err := c.pds.repos["test-ns"].ProveRecord(c.t.Context(), atproto.Key{Collection: podCollection, RKey: "foo"})
	if err != nil || rec != nil {
		c.t.Errorf("the record is there: %v (%v)", rec, err)
	}
}

// damage replaces the stored value.
func (c *corruptible) damage() {
	c.t.Helper()
	if _, err := c.client.Put(c.t.Context(), suiteViews+corruptKey, "damaged"); err != nil {
		c.t.Fatal(err)
	}
}

func TestCorruptViewIsTold(t *testing.T) {
	c := newCorruptible(t)
	for what, corrupt := range map[string]func() (undo func()){
		"transform": func() func() { c.failTransform.Store(true); return func() { c.failTransform.Store(false) } },
		"decode":    func() func() { c.codec.fail.Store(true); return func() { c.codec.fail.Store(false) } },
	} {
		undo := corrupt()
		if _, err := c.get(); !storage.IsCorruptObject(err) {
			t.Errorf("%s: get: %v, want a corrupt object", what, err)
		}
		undo()
	}
	if err := c.delete(); !storage.IsInvalidObj(err) {
		t.Errorf("unsafe deletion of an object that can be decoded: %v", err)
	}
	c.damage()
	if _, err := c.get(); !storage.IsCorruptObject(err) {
		t.Errorf("damaged: get: %v, want a corrupt object", err)
	}
}

// TestUnsafeDeletionTakesTheRecord: with ingests between all steps of it.
func TestUnsafeDeletionTakesTheRecord(t *testing.T) {
	c := newCorruptible(t)
	c.codec.fail.Store(true)
	m := c.hub.mountNamed("test-ns", "test-ns")
	var steps []string
	point := func(point string) bool {
		if strings.HasPrefix(point, "delete.") {
			steps = append(steps, point)
			c.codec.fail.Store(false) // even one that finds the view whole
			_ = c.suiteEnv.store.ingest(t.Context(), m, atproto.Key{Collection: podCollection, RKey: "foo"}, ingestOptions{})
			c.codec.fail.Store(true)
		}
		return false
	}
	c.point.Store(&point)
	if err := c.delete(); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 3 {
		t.Errorf("steps %v", steps)
	}
	c.codec.fail.Store(false)
	if _, err := c.get(); !storage.IsNotFound(err) {
		t.Errorf("after the deletion: %v, want not found", err)
	}
	c.wantNoRecord()
	c.create()
}

// TestUnsafeDeletionOfAnEditedRecord deletes what the record holds now.
func TestUnsafeDeletionOfAnEditedRecord(t *testing.T) {
	c := newCorruptible(t)
	c.failTransform.Store(true)
	record, err := podMapper{}.Encode(&example.Pod{Spec: example.PodSpec{NodeName: "elsewhere"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.pds.repos["test-ns"].PutRecord(t.Context(), atproto.Key{Collection: podCollection, RKey: "foo"}, record, atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.delete(); err != nil {
		t.Fatal(err)
	}
	c.wantNoRecord()
	c.failTransform.Store(false)
	if _, err := c.get(); !storage.IsNotFound(err) {
		t.Errorf("after the deletion: %v, want not found", err)
	}
}

// TestUnsafeDeletionWithoutAStamp: nothing says which record it was, so that it
// comes back, as the same object.
func TestUnsafeDeletionWithoutAStamp(t *testing.T) {
	c := newCorruptible(t)
	c.damage()
	if err := c.delete(); err != nil {
		t.Fatal(err)
	}
	pod, err := c.get()
	if err != nil || pod.UID != "first" {
		t.Errorf("the record came back as %q (%v), want the same uid", pod.UID, err)
	}
}

// TestUnsafeDeletionNeedsTheGate: without it the option means nothing.
func TestUnsafeDeletionNeedsTheGate(t *testing.T) {
	setGate(t, features.AllowUnsafeMalformedObjectDeletion, false)
	c := newCorruptible(t)
	if err := c.delete(); err != nil {
		t.Errorf("a plain deletion: %v", err)
	}
	c.wantNoRecord()
}
