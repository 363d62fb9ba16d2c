package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const collections = "/apis/socialweb.computer/v1alpha1/infracollections"

// collect makes an InfraCollection of the env's AtprotoRepo.
func (e *env) collect(t *testing.T, name string, most int32) *v1alpha1.InfraCollection {
	t.Helper()
	c := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.RepoRef.Name, c.Spec.MaxItems = repoName, ptr.To(most)
	c, err := e.client.InfraCollections().Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lists waits until a collection is Ready and lists these children: a name, with an !
// where it is boundBy, or the record's key with a ? where the name is taken.
func (e *env) lists(t *testing.T, name string, truncated bool, children ...string) *v1alpha1.InfraCollection {
	t.Helper()
	var c *v1alpha1.InfraCollection
	waitFor(t, "children of "+name, func() (err error) {
		if c, err = e.client.InfraCollections().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		var got []string
		for _, i := range c.Status.Children {
			switch {
			case i.Conflict == v1alpha1.NameConflict:
				got = append(got, i.URI[strings.LastIndexByte(i.URI, '/')+1:]+"?")
			case i.BoundBy != "":
				got = append(got, i.BoundBy+"!")
			default:
				got = append(got, i.Name)
			}
		}
		if !slices.Equal(got, children) || !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) ||
			meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionTruncated) != truncated {
			return fmt.Errorf("%q, want %q, truncated %v: %+v", got, children, truncated, c.Status)
		}
		return nil
	})
	return c
}

// isChild checks that an Infra is, or is not, a collection's.
func (e *env) isChild(t *testing.T, name string, of *v1alpha1.InfraCollection) *v1alpha1.Infra {
	t.Helper()
	obj := e.infra(t, name)
	owner := metav1.GetControllerOf(obj)
	if of == nil && (owner != nil || obj.Labels[v1alpha1.LabelCollection] != "") {
		t.Errorf("%s is a child: %+v", name, obj.ObjectMeta)
	}
	if of != nil && (owner == nil || owner.UID != of.UID || owner.Kind != "InfraCollection" || ptr.Deref(owner.BlockOwnerDeletion, true) || obj.Labels[v1alpha1.LabelCollection] != of.Name) {
		t.Errorf("%s is no child: %+v", name, obj.ObjectMeta)
	}
	return obj
}

func notDefault(r *v1alpha1.AtprotoRepo) { r.Spec.Default = false }

// TestCollectionEnumerates: of two records, one of which an Infra has published, a
// collection serves the other; what the PDS is told by somebody else comes and goes,
// a name that is taken is told, and no more comes than maxItems.
func TestCollectionEnumerates(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onReference(t), notDefault)
	a := e.account
	mine := newInfra("mine", "published")
	mine.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: repoName}}
	e.create(t, mine)
	e.create(t, newInfra("taken", "private"))
	cid := a.put(t, "theirs", infraRecord("theirs"))
	e.collect(t, "all", 1000)
	c := e.lists(t, "all", false, "mine!", "theirs")
	if i := c.Status.Children[1]; i.CID != cid || i.URI != "at://"+a.DID+"/"+infraCollection+"/theirs" || c.Status.Items != 2 {
		t.Errorf("%+v", c.Status)
	}
	e.isChild(t, "mine", nil)
	if got := e.isChild(t, "theirs", c); got.Spec.Description != "theirs" || got.Spec.Record.RepoRef.Name != repoName {
		t.Errorf("%+v", got.Spec)
	}
	a.put(t, "taken", infraRecord("its name is taken"))
	e.lists(t, "all", false, "mine!", "taken?", "theirs")

	a.remove(t, "theirs")
	e.lists(t, "all", false, "mine!", "taken?")
	e.shows(t, "deleted elsewhere", "mine", "taken")

	e.must(t, request{method: http.MethodPatch, path: collections + "/all", kind: mergePatch, body: `{"spec":{"maxItems":3}}`})
	a.put(t, "x1", infraRecord("x1"))
	a.put(t, "x2", infraRecord("x2"))
	e.lists(t, "all", false, "mine!", "taken?", "x1", "x2")
	a.put(t, "x3", infraRecord("x3"))
	c = e.lists(t, "all", true, "mine!", "taken?", "x1", "x2")
	if r := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionTruncated); r.Reason != v1alpha1.ReasonMaxItems || contains(r.Message, "1 more", "spec.maxItems") != nil {
		t.Errorf("%+v", r)
	}
	e.shows(t, "truncated", "mine", "taken", "x1", "x2")
	e.kubectl(t, "delete", "infra", "x1") // and its record
	e.lists(t, "all", false, "mine!", "taken?", "x2", "x3")
	if _, cid := a.get(t, "x1"); cid != "" {
		t.Error("the record of a child that was deleted is left")
	}
}

// TestCollectionDeleted: with a collection its children go and their records, or,
// orphaned, stay and work on. No garbage collector runs here.
func TestCollectionDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t), notDefault)
	a := e.account
	a.put(t, "one", infraRecord("one"))
	c := e.collect(t, "all", 10)
	e.lists(t, "all", false, "one")
	one := e.isChild(t, "one", c)
	e.kubectl(t, "delete", "infcol", "all", "--cascade=orphan")
	if got := e.isChild(t, "one", nil); got.UID != one.UID || got.Spec.Record == nil {
		t.Errorf("orphaned: %+v", got)
	}
	a.put(t, "one", infraRecord("edited"))
	if got := e.infra(t, "one"); got.Spec.Description != "edited" {
		t.Errorf("orphaned, and edited: %q", got.Spec.Description)
	}
	a.put(t, "two", infraRecord("two"))
	e.shows(t, "nothing makes records appear", "one")
	for _, policy := range []string{"background", "foreground"} {
		e.collect(t, "again", 10)
		e.lists(t, "again", false, "one!", "two")
		e.kubectl(t, "delete", "infcol", "again", "--cascade="+policy)
		e.shows(t, policy, "one")
		if got := keys(a.records(t)); !slices.Equal(got, []string{"one"}) {
			t.Errorf("%s: records %v", policy, got)
		}
		a.put(t, "two", infraRecord("two"))
	}
}

// TestCollectionOfForeignRecords: what belongs to an account that we may only read
// can't be changed, with the reason, but for what is private; it goes with the
// collection, and no record does. What had expired before it was seen says so.
func TestCollectionOfForeignRecords(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t), notDefault, func(r *v1alpha1.AtprotoRepo) { r.Spec.Access, r.Spec.CredentialsRef = v1alpha1.AccessRead, nil })
	a := e.account
	a.put(t, "theirs", infraRecord("theirs"))
	for name, created := range map[string]time.Time{"old": time.Now().Add(-2 * time.Hour), "new": time.Now()} {
		a.putIn(t, ephemeralCollection, name, record{
			"$type": ephemeralCollection, "createdAt": created.UTC().Format(time.RFC3339), "ttlSeconds": 3600,
			"contracts": []any{record{"name": "web", "state": "requested"}},
		})
	}
	c := e.collect(t, "foreign", 10)
	e.lists(t, "foreign", false, "theirs")
	e.isChild(t, "theirs", c)
	ephemeral := &v1alpha1.EphemeralInfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	ephemeral.Spec.RepoRef.Name = repoName
	if _, err := e.client.EphemeralInfraCollections().Create(t.Context(), ephemeral, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "ephemeral children", func() error {
		list, err := e.client.EphemeralInfras().List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelCollection + "=foreign"})
		if err != nil {
			return err
		}
		if len(list.Items) != 2 {
			return fmt.Errorf("%d of 2", len(list.Items))
		}
		for i := range list.Items {
			o := &list.Items[i]
			if got := meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionExpiredAtFirstSight); got != (o.Name == "old") {
				t.Errorf("%s: %+v", o.Name, o.Status)
			}
		}
		return nil
	})
	refused := func(what string, answer answer, words ...string) {
		t.Helper()
		if answer.status != http.StatusForbidden || contains(answer.failure.Message, append(words, "AtprotoRepo", repoName, "Read", "spec.access")...) != nil {
			t.Errorf("%s: %d %s", what, answer.status, answer.body)
		}
	}
	at := infras + "/theirs"
	refused("a change of the declaration", e.do(t, request{method: http.MethodPatch, path: at, kind: mergePatch, body: `{"spec":{"description":"mine"}}`}))
	refused("a deletion", e.do(t, request{method: http.MethodDelete, path: at}), `InfraCollection "foreign"`)
	e.must(t, request{method: http.MethodPatch, path: at, kind: mergePatch, body: `{"metadata":{"labels":{"l":"v"},"finalizers":["example.com/hold"]}}`})
	refused("a deletion that a finalizer would hold", e.do(t, request{method: http.MethodDelete, path: at}), `InfraCollection "foreign"`)
	e.must(t, request{method: http.MethodPatch, path: at + "/status", kind: mergePatch, body: `{"status":{"phase":"Staged"}}`})
	if got := e.infra(t, "theirs"); got.Labels["l"] != "v" || got.Status.Phase != v1alpha1.PhaseStaged || got.DeletionTimestamp != nil {
		t.Errorf("%+v", got)
	}
	e.kubectl(t, "delete", "infcol,einfcol", "foreign", "--wait=false")
	waitFor(t, "deletion of the child", func() error {
		if got := e.infra(t, "theirs"); got.DeletionTimestamp == nil {
			return fmt.Errorf("%+v", got.ObjectMeta)
		}
		return nil
	})
	if _, err := e.client.InfraCollections().Get(t.Context(), "foreign", metav1.GetOptions{}); err != nil {
		t.Errorf("it is gone before its child: %v", err)
	}
	e.must(t, request{method: http.MethodPatch, path: at, kind: mergePatch, body: `{"metadata":{"finalizers":null}}`})
	waitFor(t, "end of the collections", func() error {
		_, err := e.client.InfraCollections().Get(t.Context(), "foreign", metav1.GetOptions{})
		_, err2 := e.client.EphemeralInfraCollections().Get(t.Context(), "foreign", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) || !apierrors.IsNotFound(err2) {
			return fmt.Errorf("%w, %w", err, err2)
		}
		return nil
	})
	e.shows(t, "without the collection")
	if got := keys(a.records(t)); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("records %v", got)
	}
}
