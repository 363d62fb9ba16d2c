package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// header is what every object of a watch has.
type header struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
}

func headerOf(t *testing.T, e watchEvent) header {
	t.Helper()
	return decode[header](t, string(e.Object))
}

func number(t *testing.T, rv string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("resourceVersion %q", rv)
	}
	return n
}

// TestBookmarksAreWellFormed: bookmarks come to those who asked for them, name
// kind, version and a resourceVersion that doesn't go back; only the one that ends
// the initial events says that it does.
func TestBookmarksAreWellFormed(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "x"))
	rv := e.rv(t)
	var changes atomic.Int64
	bookmarks := func(t *testing.T, query string) (ordinary, initial int) {
		t.Helper()
		w := e.watch(t, infras+"?watch=1&timeoutSeconds=5&"+query)
		// A bookmark tells what the watch doesn't know when it begins: there must be a
		// change afterwards, and before the bookmark, two seconds before the end.
		e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch,
			body: record{"metadata": record{"labels": record{"change": fmt.Sprint(changes.Add(1))}}}})
		added := 0
		for {
			ev, more := w.next(patience)
			if !more {
				return ordinary, initial
			}
			if ev.Type == string(watch.Added) {
				added++
			}
			if ev.Type != string(watch.Bookmark) {
				continue
			}
			h := headerOf(t, ev)
			if h.Kind != "Infra" || h.APIVersion != v1alpha1.SchemeGroupVersion.String() || number(t, h.Metadata.ResourceVersion) < number(t, rv) {
				t.Errorf("%s: bookmark %s, began at %s", query, ev.Object, rv)
			}
			if h.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "" {
				ordinary++
				continue
			}
			if initial++; added != 1 {
				t.Errorf("%s: the initial events end after %d of 1", query, added)
			}
		}
	}
	for query, want := range map[string]struct{ ordinary, initial bool }{
		"resourceVersion=" + rv:                                                                                   {},
		"allowWatchBookmarks=true&resourceVersion=" + rv:                                                          {ordinary: true},
		"allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan":                       {initial: true},
		"allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + rv: {initial: true},
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			_, asked, _ := strings.Cut(query, "allowWatchBookmarks=")
			waitFor(t, "bookmarks", func() error { // the server may be too late for one watch
				ordinary, initial := bookmarks(t, query)
				if asked == "" && ordinary > 0 || initial > 1 || initial > 0 && !want.initial {
					t.Errorf("%d ordinary and %d initial bookmarks, want %+v", ordinary, initial, want)
				}
				if want.ordinary && ordinary == 0 || want.initial && initial == 0 {
					return fmt.Errorf("%d ordinary and %d initial ones", ordinary, initial)
				}
				return nil
			})
		})
	}
}

// TestWaitingForOneObject: what kubectl wait does: a watch of one name shows the
// object as it is, then its changes, then its end, and no other object.
func TestWaitingForOneObject(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	for _, name := range []string{"a", "b"} {
		e.create(t, newInfra(name, "x"))
	}
	w := e.watch(t, infras+"?watch=1&fieldSelector=metadata.name%3Da")
	first, _ := w.next(patience)
	if first.Type != "ADDED" || first.infra(t).Name != "a" {
		t.Fatalf("first event %s %s", first.Type, first.Object)
	}
	e.setPhase(t, "b", v1alpha1.PhaseDeployed)
	e.must(t, request{method: http.MethodPatch, path: infras + "/a/status", kind: mergePatch,
		body: `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`})
	w.until(t, "a", func(i *v1alpha1.Infra) bool { return condition(i, "Ready").Status == "True" })
	if err := e.client.Infras().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.account.remove(t, "a")
	for {
		ev, more := w.next(patience)
		if !more {
			t.Fatal("the watch ended before the object")
		}
		if i := ev.infra(t); i.Name != "a" {
			t.Errorf("event %s of %s", ev.Type, i.Name)
		}
		if ev.Type == "DELETED" {
			break
		}
	}
	if out := e.kubectl(t, "wait", "infra/a", "--for=delete", "--timeout=5m"); out != "" {
		t.Logf("kubectl wait: %s", out)
	}
}

// TestEmptyListCanBeWatched: the resourceVersion of an empty list is one that a
// watch can begin at.
func TestEmptyListCanBeWatched(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	l, err := e.client.EphemeralInfras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	number(t, l.ResourceVersion)
	rw, err := watchtools.NewRetryWatcherWithContext(t.Context(), l.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return e.client.EphemeralInfras().Watch(ctx, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		rw.Stop()
		<-rw.Done()
	}()
	e.account.putIn(t, ephemeralCollection, "a", record{"$type": ephemeralCollection, "contracts": []any{}})
	select {
	case ev := <-rw.ResultChan():
		if i, ok := ev.Object.(*v1alpha1.EphemeralInfra); ev.Type != watch.Added || !ok || i.Name != "a" {
			t.Errorf("event %+v", ev)
		}
	case <-time.After(patience):
		t.Error("no event")
	}
}

// TestDeletedEventHasTheObject: the last event of an object has all of it, at the
// resourceVersion of its deletion, whoever deleted it.
func TestDeletedEventHasTheObject(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		w := e.watch(t, infras+"?watch=1&resourceVersion="+e.rv(t))
		for name, remove := range map[string]func(){
			"by-api": func() {
				if err := e.client.Infras().Delete(t.Context(), "by-api", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			},
			"by-pds": func() { a.remove(t, "by-pds") },
		} {
			obj := newInfra(name, "full")
			obj.Labels = map[string]string{"l": "x"}
			made := e.create(t, obj)
			remove()
			got := w.untilType(t, "DELETED", name).infra(t)
			if got.UID != made.UID || got.Labels["l"] != "x" || got.Spec.Description != "full" || len(got.Spec.Contracts) != 1 {
				t.Errorf("%s: %+v", name, got)
			}
			if number(t, got.ResourceVersion) <= number(t, made.ResourceVersion) {
				t.Errorf("%s: deleted at %s, made at %s", name, got.ResourceVersion, made.ResourceVersion)
			}
		}
	})
}

// TestIdleWatchLives: a watch of nothing stays open for as long as was asked.
func TestIdleWatchLives(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	begin := time.Now()
	w := e.watch(t, infras+"?watch=1&timeoutSeconds=2&resourceVersion="+e.rv(t))
	if ev, more := w.next(patience); more {
		t.Errorf("event %s %s", ev.Type, ev.Object)
	}
	if lived := time.Since(begin); lived < 2*time.Second {
		t.Errorf("it lived %v", lived)
	}
}

// TestWatchOfForeignEdits: edits made elsewhere come through the watch by
// themselves, each state at most once, with resourceVersions that grow.
func TestWatchOfForeignEdits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		w := e.watch(t, infras+"?watch=1&resourceVersion="+e.rv(t))
		const edits = 20
		for i := range edits {
			a.put(t, "a", infraRecord(fmt.Sprint(i)))
		}
		last, seen := uint64(0), -1
		for seen < edits-1 {
			ev, more := w.next(patience)
			if !more {
				t.Fatalf("the watch ended after edit %d", seen)
			}
			i := ev.infra(t)
			rv, n := number(t, i.ResourceVersion), 0
			if _, err := fmt.Sscan(i.Spec.Description, &n); err != nil || n < seen || rv <= last {
				t.Errorf("edit %q at %d after %d at %d", i.Spec.Description, rv, seen, last)
			}
			last, seen = rv, n
		}
	})
}
