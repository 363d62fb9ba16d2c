package api

import (
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// shows checks the names of the Infras that are served.
func (e *env) shows(t *testing.T, when string, names ...string) {
	t.Helper()
	if got := keys(e.objects(t)); fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("%s: %v, want %v", when, got, names)
	}
}

// TestUnboundRecordStaysAway: an object that is unbound lives on privately, its
// record stays and is served by nothing, also after a restart, until it is bound
// again by its URI.
func TestUnboundRecordStaysAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		made := e.create(t, newInfra("a", "published"))
		uri := made.Status.Record.URI
		a.put(t, "other", infraRecord("other"))
		got := decode[v1alpha1.Infra](t, e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"record":null}}`}).body)
		if got.Spec.Record != nil || got.Status.Record != nil || got.UID != made.UID || got.Spec.Description != "published" {
			t.Errorf("unbound: %+v", got)
		}
		e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"private words"}}`})
		a.put(t, "a", infraRecord("edited elsewhere"))
		check := func(when string) {
			t.Helper()
			e.shows(t, when, "a", "other")
			if got := e.infra(t, "a"); got.Spec.Description != "private words" || got.UID != made.UID {
				t.Errorf("%s: %+v", when, got)
			}
			if value, _ := a.get(t, "a"); value["description"] != "edited elsewhere" {
				t.Errorf("%s: record %v", when, value)
			}
		}
		check("unbound")
		e.restart(t)
		check("after a restart")

		if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		e.shows(t, "private object deleted", "other")
		e.restart(t)
		e.shows(t, "private object deleted, after a restart", "other")
		if value, _ := a.get(t, "a"); value["description"] != "edited elsewhere" {
			t.Errorf("record %v", value)
		}
		if _, err := e.client.Infras().Create(t.Context(), newInfra("a", "another"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a creation over the detached record: %v", err)
		}
		again := newInfra("b", "ignored: the record wins")
		again.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: repoName}, URI: uri}
		if got := e.create(t, again); got.Spec.Description != "edited elsewhere" || got.Status.Record.URI != uri {
			t.Errorf("bound again: %+v", got)
		}
		a.put(t, "a", infraRecord("followed"))
		if got := e.infra(t, "b"); got.Spec.Description != "followed" {
			t.Errorf("bound again: %q", got.Spec.Description)
		}
		e.shows(t, "bound again", "b", "other")
	})
}

// TestRetainedRecordStaysAway: the record of an object that is deleted under
// Retain stays and is served by nothing, until it is deleted elsewhere: one that
// then comes in its place is a new object.
func TestRetainedRecordStaysAway(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	obj := newInfra("a", "kept")
	obj.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: repoName}, DeletionPolicy: v1alpha1.DeletionRetain}
	made := e.create(t, obj)
	if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.account.put(t, "a", infraRecord("edited"))
	e.shows(t, "retained")
	e.restart(t)
	e.shows(t, "retained, after a restart")
	e.account.remove(t, "a")
	e.shows(t, "gone")
	e.account.put(t, "a", infraRecord("new"))
	if got := e.infra(t, "a"); got.UID == made.UID || got.Spec.Description != "new" {
		t.Errorf("%+v", got)
	}
}

// TestFollowingWhatIsNotThere: an object can't be created to follow a record that
// doesn't exist, that another object shows, or that is elsewhere: 422.
func TestFollowingWhatIsNotThere(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	shown := e.create(t, newInfra("shown", "x"))
	for name, b := range map[string]v1alpha1.RecordBinding{
		"missing":    {RepoRef: v1alpha1.RepoReference{Name: repoName}, URI: "at://" + e.account.DID + "/" + infraCollection + "/missing"},
		"shown":      {RepoRef: v1alpha1.RepoReference{Name: repoName}, URI: shown.Status.Record.URI},
		"foreign":    {RepoRef: v1alpha1.RepoReference{Name: repoName}, URI: "at://did:plc:aaaaaaaaaaaaaaaaaaaaaaaa/" + infraCollection + "/x"},
		"of a post":  {RepoRef: v1alpha1.RepoReference{Name: repoName}, URI: "at://" + e.account.DID + "/app.bsky.feed.post/x"},
		"of no repo": {RepoRef: v1alpha1.RepoReference{Name: "nobody"}},
	} {
		obj := newInfra("x", "")
		obj.Spec.Record = &b
		if _, err := e.client.Infras().Create(t.Context(), obj, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e.shows(t, "afterwards", "shown")
}
