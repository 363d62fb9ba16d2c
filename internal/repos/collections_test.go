package repos_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testpds"
	schemas "socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// elsewhere writes to an account past the server.
func (w *world) elsewhere(t *testing.T, a testpds.Account) *atproto.Client {
	t.Helper()
	c, err := atproto.Login(t.Context(), w.pds.URL, atproto.Credentials{Identifier: a.DID, Password: a.Password},
		atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, c *atproto.Client, rkey string) {
	t.Helper()
	record := map[string]any{"$type": schemas.Infra, "createdAt": "2026-01-01T00:00:00Z", "contracts": []any{}}
	if _, err := c.PutRecord(t.Context(), infraKey(rkey), record, atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
}

func infraKey(rkey string) atproto.Key { return atproto.Key{Collection: schemas.Infra, RKey: rkey} }

func (w *world) collect(t *testing.T, name, repo string, change ...func(*v1alpha1.InfraCollectionSpec)) *v1alpha1.InfraCollection {
	t.Helper()
	c := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.RepoRef.Name = repo
	for _, f := range change {
		f(&c.Spec)
	}
	c, err := w.Client.SocialwebV1alpha1().InfraCollections().Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually polls until f answers "".
func eventually(t *testing.T, f func() string) {
	t.Helper()
	var last string
	for range 1200 {
		if last = f(); last == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal(last)
}

// shows waits for a collection's children, as name, or boundBy!, or rkey? for a
// conflict, and its conditions as type=reason.
func (w *world) shows(t *testing.T, name string, children []string, reasons ...string) *v1alpha1.InfraCollection {
	t.Helper()
	var c *v1alpha1.InfraCollection
	eventually(t, func() (wrong string) {
		var err error
		if c, err = w.Client.SocialwebV1alpha1().InfraCollections().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		var got []string
		for _, i := range c.Status.Children {
			switch {
			case i.Conflict != "":
				got = append(got, i.URI[strings.LastIndexByte(i.URI, '/')+1:]+"?")
			case i.BoundBy != "":
				got = append(got, i.BoundBy+"!")
			default:
				got = append(got, i.Name)
			}
		}
		if !slices.Equal(got, children) {
			return fmt.Sprintf("children %q, want %q: %+v", got, children, c.Status)
		}
		for _, want := range reasons {
			kind, reason, _ := strings.Cut(want, "=")
			if r := meta.FindStatusCondition(c.Status.Conditions, kind); r == nil || r.Reason != reason {
				return fmt.Sprintf("want %s: %+v", want, c.Status)
			}
		}
		return ""
	})
	return c
}

func (w *world) gone(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() string {
		c, err := w.Client.SocialwebV1alpha1().InfraCollections().Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("the collection stays: %+v, %v", c, err)
	})
}

func (w *world) remove(t *testing.T, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	if err := w.Client.SocialwebV1alpha1().InfraCollections().Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// infras are those that the API serves now, by name.
func (w *world) infras(t *testing.T) map[string]*v1alpha1.Infra {
	t.Helper()
	list, err := w.Client.SocialwebV1alpha1().Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*v1alpha1.Infra{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

// A collection of a repository that is only read: it begins when the AtprotoRepo is
// there, is the only one, bounds what comes, and takes the views away with it and no
// record.
func TestCollectionOfAReadRepo(t *testing.T) {
	w := start(t)
	bob := w.elsewhere(t, w.pds.Accounts[1])
	for _, rkey := range []string{"one", "two", "three"} {
		put(t, bob, rkey)
	}
	w.collect(t, "bobs", "bob", func(s *v1alpha1.InfraCollectionSpec) { s.MaxItems = ptr.To(int32(2)) })
	w.shows(t, "bobs", nil, "Ready=RepoNotFound")
	w.create(t, "bob", v1alpha1.AtprotoRepoSpec{DID: w.pds.Accounts[1].DID, Access: v1alpha1.AccessRead})
	c := w.shows(t, "bobs", []string{"one", "three"}, "Ready=Serving", "Truncated=MaxItems")
	if c.Status.Items != 2 || c.Status.ObservedGeneration != c.Generation || c.Status.Children[0].CID == "" {
		t.Errorf("%+v", c.Status)
	}
	one := w.infras(t)["one"]
	if owner := metav1.GetControllerOf(one); owner == nil || owner.UID != c.UID || *owner.BlockOwnerDeletion || one.Labels[v1alpha1.LabelCollection] != "bobs" || one.Spec.Record.RepoRef.Name != "bob" {
		t.Errorf("%+v", one)
	}
	w.collect(t, "late", "bob")
	w.shows(t, "late", nil, "Ready=AlreadyCollected")
	api := w.Client.SocialwebV1alpha1()
	if err := api.Infras().Delete(t.Context(), "one", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `InfraCollection "bobs"`) {
		t.Errorf("deletion of a child: %v", err)
	}
	if err := w.repos.Delete(t.Context(), "bob", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := w.until(t, "bob", has(v1alpha1.ConditionInUse, metav1.ConditionTrue, "Bound"))
	if m := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionInUse).Message; !strings.Contains(m, "infracollection/bobs") || !strings.Contains(m, "infra/one") {
		t.Errorf("users %q", m)
	}
	w.remove(t, "late", metav1.DeletePropagationBackground)
	w.gone(t, "late")
	w.remove(t, "bobs", metav1.DeletePropagationForeground)
	w.gone(t, "bobs")
	if left := w.infras(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if rec, err := bob.GetRecord(t.Context(), infraKey("one")); err != nil || rec == nil {
		t.Errorf("the record is gone: %v", err)
	}
	eventually(t, func() string {
		if _, err := w.repos.Get(t.Context(), "bob", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the AtprotoRepo stays: %v", err)
		}
		return ""
	})
}

// A collection of a repository that can be written takes the records with it, or
// leaves its children where they are; also where it is the default's.
func TestCollectionOfAWrittenRepo(t *testing.T) {
	w := start(t)
	account := w.pds.Accounts[1]
	bob := w.elsewhere(t, account)
	put(t, bob, "one")
	put(t, bob, "mine")
	w.create(t, "bob", v1alpha1.AtprotoRepoSpec{DID: account.DID, CredentialsRef: w.credentials(t, "bob", account.DID, account.Password)})
	w.until(t, "bob", has(v1alpha1.ConditionReady, metav1.ConditionTrue, "Serving"))
	api := w.Client.SocialwebV1alpha1()
	mine := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "by-name"}}
	mine.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "bob"}, URI: "at://" + account.DID + "/" + schemas.Infra + "/mine"}
	if _, err := api.Infras().Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Infras().Create(t.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "taken"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	put(t, bob, "taken")
	w.collect(t, "bobs", "bob")
	w.shows(t, "bobs", []string{"by-name!", "one", "taken?"}, "Ready=Serving", "Truncated=AllServed")
	put(t, bob, "two")
	w.shows(t, "bobs", []string{"by-name!", "one", "taken?", "two"})
	if _, err := bob.DeleteRecord(t.Context(), infraKey("two"), atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
	w.shows(t, "bobs", []string{"by-name!", "one", "taken?"})
	one := w.infras(t)["one"]
	w.remove(t, "bobs", metav1.DeletePropagationOrphan)
	w.gone(t, "bobs")
	orphan := w.infras(t)["one"]
	if orphan == nil || orphan.UID != one.UID || len(orphan.OwnerReferences) != 0 || orphan.Labels[v1alpha1.LabelCollection] != "" || orphan.Spec.Record == nil {
		t.Fatalf("orphaned: %+v", orphan)
	}
	put(t, bob, "three")
	w.collect(t, "again", "bob")
	w.shows(t, "again", []string{"by-name!", "one!", "taken?", "three"}, "Ready=Serving")
	w.remove(t, "again", metav1.DeletePropagationBackground)
	w.gone(t, "again")
	left := w.infras(t)
	if len(left) != 3 || left["three"] != nil {
		t.Errorf("left: %v", left)
	}
	if rec, err := bob.GetRecord(t.Context(), infraKey("three")); err == nil {
		t.Errorf("its record is left: %v", rec)
	}
}

// The collection of a default repository that is only read orphans its children: the
// records appear without it too.
func TestCollectionOfAReadDefaultRepo(t *testing.T) {
	w := start(t)
	eventually(t, func() string {
		r, err := w.repos.Get(t.Context(), "default", metav1.GetOptions{})
		if err == nil {
			r.Spec.Access = v1alpha1.AccessRead
			_, err = w.repos.Update(t.Context(), r, metav1.UpdateOptions{})
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	w.until(t, "default", func(r *v1alpha1.AtprotoRepo) bool { return r.Status.Access == v1alpha1.AccessRead })
	put(t, w.Repo, "before")
	eventually(t, func() string { return map[bool]string{true: "before does not appear"}[w.infras(t)["before"] == nil] })
	w.collect(t, "all", "default", func(s *v1alpha1.InfraCollectionSpec) { s.MaxItems = ptr.To(int32(1)) })
	w.shows(t, "all", []string{"before!"}, "Ready=Serving", "Truncated=AllServed")
	put(t, w.Repo, "later")
	w.shows(t, "all", []string{"before!", "later"})
	w.remove(t, "all", metav1.DeletePropagationBackground)
	w.gone(t, "all")
	if later := w.infras(t)["later"]; later == nil || len(later.OwnerReferences) > 0 || later.Labels[v1alpha1.LabelCollection] != "" {
		t.Errorf("%+v", later)
	}
}
