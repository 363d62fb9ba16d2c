package repos

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/fake"
)

// collector is a hub that notes what it is told of collections, and has members.
type collector struct {
	scribe
	members repostore.Members
	closing error
	reads   int
}

func (c *collector) SetCollection(_, repo, _ string, col *repostore.Collection) {
	note := "none of " + repo
	if col != nil {
		note = col.Owner.Name + " of " + repo
	}
	c.notes = append(c.notes, note)
}

func (c *collector) CloseCollection(context.Context, string, string, types.UID) error {
	c.notes = append(c.notes, "close")
	return c.closing
}

func (c *collector) RepoState(_, _ string) (repostore.RepoState, bool) {
	return repostore.RepoState{IngestedRev: "3k"}, true
}

func (c *collector) MembersMark(_, _, _ string) (repostore.MembersMark, bool) {
	return repostore.MembersMark{}, true
}

func (c *collector) Members(context.Context, string, string, string) (repostore.Members, bool, error) {
	c.reads++
	return c.members, true, nil
}

// aCollection is an InfraCollection of AtprotoRepo a with a child, owned and labelled.
func aCollection(name string) (*v1alpha1.InfraCollection, *v1alpha1.Infra) {
	c := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), Generation: 1, Finalizers: []string{v1alpha1.FinalizerChildren},
		Annotations: map[string]string{repostore.ClusterAnnotation: "ws"}, CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
	}}
	c.Spec.RepoRef.Name = "a"
	child := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{
		Name: "child", UID: "uid-child", Labels: map[string]string{v1alpha1.LabelCollection: v1alpha1.LabelValue(name), "l": "v"},
		OwnerReferences: []metav1.OwnerReference{{UID: c.UID, Name: name}, {UID: "other"}},
	}}
	return c, child
}

// ending is a manager whose mirror has what the API has.
func ending(t *testing.T, hub *collector, clk *testclock.FakeClock, c *v1alpha1.InfraCollection, more ...*v1alpha1.Infra) (*Manager, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(c.DeepCopy(), named("ws", "a"))
	for _, o := range more {
		if _, err := client.SocialwebV1alpha1().Infras().Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m := New(Config{
		Hub: hub, For: func(string) (versioned.Interface, error) { return client, nil }, Clock: clk,
		Budgets: atproto.NewBudgets(atproto.BudgetOptions{}),
	})
	t.Cleanup(m.shutDown)
	if err := m.mirror.Replace([]any{named("ws", "a")}, "1"); err != nil {
		t.Fatal(err)
	}
	m.collections.put(infraCollections.of(c))
	return m, client
}

// again reconciles what the API has now.
func again(t *testing.T, m *Manager, client versioned.Interface, name string, change ...func(*v1alpha1.InfraCollection)) (*v1alpha1.InfraCollection, error) {
	t.Helper()
	get := func() *v1alpha1.InfraCollection {
		c, err := client.SocialwebV1alpha1().InfraCollections().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := get()
	for _, f := range change {
		f(c)
		if _, err := client.SocialwebV1alpha1().InfraCollections().Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m.collections.put(infraCollections.of(c.DeepCopy()))
	_, err := m.reconcileCollection(t.Context(), infraCollections.of(c).key())
	return get(), err
}

func deleted(finalizers ...string) func(*v1alpha1.InfraCollection) {
	return func(c *v1alpha1.InfraCollection) {
		now := metav1.NewTime(time.Unix(2000, 0))
		c.DeletionTimestamp, c.Finalizers = &now, append([]string{v1alpha1.FinalizerChildren}, finalizers...)
	}
}

// A deletion that orphans is known as one before a child is touched, and stays one
// when a garbage collector was quicker and has taken its finalizer away.
func TestOrphaningIsRemembered(t *testing.T) {
	hub := &collector{}
	c, child := aCollection("col")
	m, client := ending(t, hub, testclock.NewFakeClock(time.Unix(3000, 0)), c, child)
	now, err := again(t, m, client, "col", deleted(metav1.FinalizerOrphanDependents))
	if err != nil || !infraCollections.of(now).orphaning() {
		t.Fatalf("%+v, %v", now, err)
	}
	infras := client.SocialwebV1alpha1().Infras()
	if o, err := infras.Get(t.Context(), "child", metav1.GetOptions{}); err != nil || len(o.OwnerReferences) != 2 {
		t.Errorf("touched already: %+v, %v", o, err)
	}
	if last := hub.notes[len(hub.notes)-1]; last != "close" || !slices.Contains(hub.notes, "none of a") {
		t.Errorf("%q", hub.notes)
	}
	if _, err := again(t, m, client, "col", deleted()); err != nil { // the garbage collector's
		t.Fatal(err)
	}
	o, err := infras.Get(t.Context(), "child", metav1.GetOptions{})
	if err != nil || len(o.OwnerReferences) != 1 || o.OwnerReferences[0].UID != "other" || len(o.Labels) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	if now, err := again(t, m, client, "col"); err != nil || len(now.Finalizers) > 0 {
		t.Errorf("%+v, %v", now, err)
	}
}

// A garbage collector that has orphaned the children before the deletion was seen leaves
// their label, which goes with the collection; nothing else happens to them.
func TestOrphanedBeforeItWasSeen(t *testing.T) {
	c, child := aCollection("col")
	child.OwnerReferences = child.OwnerReferences[1:]
	m, client := ending(t, &collector{}, testclock.NewFakeClock(time.Unix(3000, 0)), c, child)
	now, err := again(t, m, client, "col", deleted())
	for i := 0; i < 3 && err == nil && len(now.Finalizers) > 0; i++ {
		now, err = again(t, m, client, "col")
	}
	if err != nil || len(now.Finalizers) > 0 {
		t.Fatalf("%+v, %v", now, err)
	}
	o, err := client.SocialwebV1alpha1().Infras().Get(t.Context(), "child", metav1.GetOptions{})
	if err != nil || o.DeletionTimestamp != nil || len(o.OwnerReferences) != 1 || o.Labels[v1alpha1.LabelCollection] != "" || o.Labels["l"] != "v" {
		t.Errorf("%+v, %v", o, err)
	}
}

// A deletion waits for the children, says for which, and takes every finalizer away
// that nobody else may: foregroundDeletion too.
func TestChildrenAreWaitedFor(t *testing.T) {
	hub := &collector{}
	c, child := aCollection("col")
	held := metav1.NewTime(time.Unix(2000, 0))
	child.DeletionTimestamp, child.Finalizers = &held, []string{"hold"}
	m, client := ending(t, hub, testclock.NewFakeClock(time.Unix(3000, 0)), c, child)
	now, err := again(t, m, client, "col", deleted(metav1.FinalizerDeleteDependents))
	ready := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if err != nil || len(now.Finalizers) != 2 || ready == nil || ready.Reason != v1alpha1.ReasonDeleting || ready.Message != "waits for infra/child" {
		t.Fatalf("%+v, %v", now, err)
	}
	if err := client.Tracker().Delete(v1alpha1.SchemeGroupVersion.WithResource("infras"), "", "child"); err != nil {
		t.Fatal(err)
	}
	if now, err := again(t, m, client, "col"); err != nil || len(now.Finalizers) > 0 {
		t.Errorf("%+v, %v", now, err)
	}
}

// Whoever begins to lead takes a deletion up that another has begun.
func TestDeletionIsTakenUp(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(3000, 0))
	c, child := aCollection("col")
	deleted()(c)
	m, client := ending(t, &collector{}, clk, c, child)
	if late := m.outrunCollections(); len(late) != 1 {
		t.Errorf("%v", late)
	}
	if _, err := again(t, m, client, "col"); err != nil {
		t.Fatal(err)
	}
	if late := m.outrunCollections(); len(late) != 0 {
		t.Errorf("%v", late)
	}
	clk.Step(endEvery)
	if late := m.outrunCollections(); len(late) != 1 {
		t.Errorf("%v", late)
	}
}

// Nothing is looked for before the collection is closed.
func TestCollectionThatCantBeClosed(t *testing.T) {
	hub := &collector{closing: errors.New("etcd is away")}
	c, child := aCollection("col")
	m, client := ending(t, hub, testclock.NewFakeClock(time.Unix(3000, 0)), c, child)
	if now, err := again(t, m, client, "col", deleted()); !errors.Is(err, hub.closing) || len(now.Finalizers) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	if _, err := client.SocialwebV1alpha1().Infras().Get(t.Context(), "child", metav1.GetOptions{}); apierrors.IsNotFound(err) {
		t.Error("its child is gone")
	}
}

// Who is a child is written at once; what a child is, and words, every ten seconds.
func TestStatusOfACollectionIsWrittenSeldom(t *testing.T) {
	hub := &collector{members: repostore.Members{Compared: true, Items: []repostore.Member{{URI: "at://d/c/one", Name: "one", CID: "a", Child: true}}}}
	clk := testclock.NewFakeClock(time.Unix(3000, 0))
	c, _ := aCollection("col")
	m, client := ending(t, hub, clk, c)
	cid := func() string {
		now, err := again(t, m, client, "col")
		if err != nil {
			t.Fatal(err)
		}
		return now.Status.Children[0].CID
	}
	if got := cid(); got != "a" {
		t.Fatalf("at first: %q", got)
	}
	if late := m.outrunCollections(); len(late) > 0 {
		t.Errorf("%v is outrun", late)
	}
	hub.members.Items[0].CID = "b"
	if got := cid(); got != "a" {
		t.Errorf("at once: %q", got)
	}
	hub.members.Items = append(hub.members.Items, repostore.Member{URI: "at://d/c/two", Name: "two", Child: false})
	if got := cid(); got != "b" {
		t.Errorf("with another child: %q", got)
	}
	hub.members.Items[0].CID = "c"
	hub.members.Beyond = 3
	if got := cid(); got != "c" {
		t.Errorf("with condition Truncated: %q", got)
	}
	hub.members.Items[0].CID, hub.members.Beyond = "d", 4
	clk.Step(revEvery)
	if got := cid(); got != "d" {
		t.Errorf("after ten seconds: %q", got)
	}
}

// Of two collections the first has the seat; of two of one second the one that has it
// already; and it keeps it until it is gone.
func TestSeat(t *testing.T) {
	hub := &collector{}
	c, _ := aCollection("z")
	m, _ := ending(t, hub, testclock.NewFakeClock(time.Unix(3000, 0)), c)
	has := func(want string) {
		t.Helper()
		if last := hub.notes[len(hub.notes)-1]; last != want+" of a" {
			t.Errorf("%q, want %s", last, want)
		}
	}
	has("z")
	other, _ := aCollection("a")
	m.collections.put(infraCollections.of(other))
	has("a") // by uid: nobody had it
	m.collections.remove(infraCollections.of(other))
	has("z")
	c = c.DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing})
	m.collections.put(infraCollections.of(c))
	m.collections.put(infraCollections.of(other))
	has("z")
	if r := m.readinessOf(infraCollections.of(other)); r.reason != v1alpha1.ReasonAlreadyCollected {
		t.Errorf("%+v", r)
	}
	c = c.DeepCopy()
	deleted()(c)
	m.collections.put(infraCollections.of(c))
	has("none")
	m.collections.replace(infraCollections, []*collection{infraCollections.of(other)})
	has("a")
	select {
	case <-m.collections.listed:
		t.Error("the other kind was not listed")
	default:
	}
	m.collections.replace(ephemeralInfraCollections, nil)
	<-m.collections.listed
}
