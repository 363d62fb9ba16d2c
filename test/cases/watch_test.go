package cases

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A bookmark has a kind, a version and a resourceVersion that goes on from where
// the watch began; without being asked for, none comes (antrea-io/antrea#8123,
// rancher/steve#1229). The cache sends one shortly before a watch times out.
func TestBookmarks(t *testing.T) {
	e := start(t)
	e.create(t, "a")
	list, err := e.infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Another kind is written to: the resourceVersion moves, and no event comes. The
	// cache learns of it by etcd's progress, which may take two intervals; a read that
	// asks for it makes it learn at once.
	other, err := e.Client.SocialwebV1alpha1().EphemeralInfras().Create(t.Context(), &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{GenerateName: "e-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	moved := metav1.ListOptions{ResourceVersion: other.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if _, err := e.infras.List(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	for _, asked := range []bool{true, false} {
		t.Run(fmt.Sprintf("asked for: %t", asked), func(t *testing.T) {
			t.Parallel()
			testwait.Until(t, "a bookmark", func() error { // the server may be too late for one watch
				n := e.bookmarks(t, list.ResourceVersion, asked)
				if !asked && n > 0 {
					t.Errorf("%d bookmarks", n)
				}
				if asked && n == 0 {
					return errors.New("none came")
				}
				return nil
			})
		})
	}
}

// bookmarks checks those of a watch on a quiet server, and counts them.
func (e *env) bookmarks(t *testing.T, rv string, asked bool) (n int) {
	t.Helper()
	for _, ev := range e.watchAll(t, base+"/infras?watch=1&timeoutSeconds=5&resourceVersion="+rv+"&allowWatchBookmarks="+strconv.FormatBool(asked)) {
		if ev.Type != string(watch.Bookmark) {
			t.Errorf("event %s on a quiet server: %s", ev.Type, ev.Object)
			continue
		}
		n++
		m := testhttp.Decode[metav1.PartialObjectMetadata](t, ev.Object)
		if m.Kind != "Infra" || m.APIVersion != "socialweb.computer/v1alpha1" || number(t, m.ResourceVersion) <= number(t, rv) {
			t.Errorf("bookmark %s", ev.Object)
		}
		if _, ok := m.Annotations[metav1.InitialEventsAnnotationKey]; ok {
			t.Errorf("an ordinary bookmark ends the initial events: %s", ev.Object)
		}
	}
	return n
}

// A watch that sends the state first ends it with the bookmark that says so.
func TestWatchList(t *testing.T) {
	e := start(t)
	e.create(t, "a")
	e.create(t, "b")
	w := e.sender().Watch(t, testhttp.Request{Path: base + "/infras?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"})
	var kinds []string
	w.Until(t, "the end of the state", func(ev testhttp.Event) bool {
		m := testhttp.Decode[metav1.PartialObjectMetadata](t, ev.Object)
		if m.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			kinds = append(kinds, "END")
			return true
		}
		kinds = append(kinds, ev.Type+" "+m.Name)
		return false
	})
	if len(kinds) != 3 || kinds[0] != "ADDED a" || kinds[1] != "ADDED b" || kinds[2] != "END" {
		t.Errorf("events %v", kinds)
	}
}

// DELETED carries the last object, whole, with the deletion's resourceVersion,
// whether the API or the PDS deleted it.
func TestDeletedEvent(t *testing.T) {
	e := start(t)
	for _, by := range []string{"api", "pds"} {
		o := infra(by)
		o.Labels = map[string]string{"l": "v"}
		if _, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		last := e.settled(t, by)
		w, err := e.infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: last.ResourceVersion, FieldSelector: "metadata.name=" + by})
		if err != nil {
			t.Fatal(err)
		}
		if by == "api" {
			err = e.infras.Delete(t.Context(), by, metav1.DeleteOptions{})
		} else {
			_, err = e.Repo.DeleteRecord(t.Context(), atproto.Key{Collection: collection, RKey: by}, atproto.Swap{Any: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		ev := <-w.ResultChan()
		w.Stop()
		got, ok := ev.Object.(*v1alpha1.Infra)
		if ev.Type != watch.Deleted || !ok {
			t.Fatalf("by %s: event %s %v", by, ev.Type, ev.Object)
		}
		if got.UID != last.UID || got.Labels["l"] != "v" || got.Spec.Description != "of "+by || len(got.Spec.Contracts) != 1 {
			t.Errorf("by %s: %+v", by, got)
		}
		if number(t, got.ResourceVersion) <= number(t, last.ResourceVersion) {
			t.Errorf("by %s: resourceVersion %s after %s", by, got.ResourceVersion, last.ResourceVersion)
		}
	}
}

// An idle watch lives until its timeout.
func TestIdleWatchLives(t *testing.T) {
	e := start(t)
	if events := e.watchAll(t, base+"/infras?watch=1&timeoutSeconds=3"); len(events) != 0 {
		t.Errorf("events %v", events)
	}
}

// watchAll reads a watch until the server ends it.
func (e *env) watchAll(t *testing.T, path string) []testhttp.Event {
	t.Helper()
	return e.sender().WatchAll(t, testhttp.Request{Path: path})
}

func number(t *testing.T, rv string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		t.Fatalf("resourceVersion %q: %v", rv, err)
	}
	return n
}
