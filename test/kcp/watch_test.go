package kcp

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// event is a line of a watch.
type event testhttp.Event

func (e event) infra(t testing.TB) v1alpha1.Infra {
	t.Helper()
	return decode[v1alpha1.Infra](t, string(e.Object))
}

// watching is an open watch, read as it comes.
type watching struct{ *testhttp.Watch }

// watch opens one in the workspace. It ends with the test.
func (w *tenant) watch(t testing.TB, path string, accept ...string) *watching {
	t.Helper()
	r := request{path: w.path(path)}
	if len(accept) > 0 {
		r.accept = accept[0]
	}
	return &watching{w.shard.sender().Watch(t, r.plain())}
}

// until reads events up to one that is as wanted.
func (w *watching) until(t testing.TB, what string, ok func(event) bool) event {
	t.Helper()
	return event(w.Until(t, what, func(e testhttp.Event) bool { return ok(event(e)) }))
}

// change waits for a kind of event of an Infra.
func (w *watching) change(t testing.TB, kind, name, description string) v1alpha1.Infra {
	t.Helper()
	return w.until(t, fmt.Sprintf("%s of %s, %q", kind, name, description), func(e event) bool {
		if e.Type != kind {
			return false
		}
		i := e.infra(t)
		return i.Name == name && i.Spec.Description == description
	}).infra(t)
}

// TestWatch: a watch shows what is done through the shard and what is done on the PDS,
// while it is open.
func TestWatch(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "watched")
	w.create(t, "a", "one")
	w.settled(t)
	rv := decode[v1alpha1.InfraList](t, w.must(t, request{path: infras}).body).ResourceVersion

	open := w.watch(t, infras+"?watch=true&allowWatchBookmarks=true&resourceVersion="+rv)
	w.create(t, "b", "of the API")
	if got := open.change(t, "ADDED", "b", "of the API"); got.Annotations["kcp.io/cluster"] != "watched" {
		t.Errorf("annotations %v", got.Annotations)
	}
	w.account.Put(t, collection, "c", newRecord("of the PDS"))
	open.change(t, "ADDED", "c", "of the PDS")
	if _, err := w.account.Edit(t.Context(), collection, "b", func(r map[string]any) { r["description"] = "edited" }); err != nil {
		t.Fatal(err)
	}
	open.change(t, "MODIFIED", "b", "edited")
	w.account.Delete(t, collection, "b")
	open.change(t, "DELETED", "b", "edited")
	w.must(t, request{method: http.MethodDelete, path: infras + "/c"})
	open.change(t, "DELETED", "c", "of the PDS")

	// A watch that begins with a list, as client-go's informers do.
	list := w.watch(t, infras+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	list.change(t, "ADDED", "a", "one")
	list.until(t, "the end of the list", func(e event) bool {
		return e.Type == "BOOKMARK" && e.infra(t).Annotations[metav1.InitialEventsAnnotationKey] == "true"
	})
	// As kubectl get -w.
	tables := w.watch(t, infras+"?watch=true&resourceVersion=0", asTable)
	row := decode[metav1.Table](t, string(tables.until(t, "a row", func(e event) bool { return e.Type == "ADDED" }).Object))
	if len(row.Rows) != 1 || row.Rows[0].Cells[0] != "a" {
		t.Errorf("row %+v", row)
	}
	// The old way, and one that ends by itself.
	if a := w.must(t, request{path: infras + "?watch=1&resourceVersion=" + rv + "&timeoutSeconds=5"}); a.header.Get("Content-Type") != "application/json" {
		t.Errorf("a watch that ended: %v", a.header)
	}
	one := w.watch(t, infras+"?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=0")
	one.change(t, "ADDED", "a", "one")
	w.create(t, "other", "x")
	w.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Description = "two" })
	one.change(t, "MODIFIED", "a", "two")
	for _, l := range one.Seen() {
		if e := decode[event](t, l); e.Type != "BOOKMARK" && e.infra(t).Name != "a" {
			t.Errorf("a watch of a alone: %s", l)
		}
	}
}
