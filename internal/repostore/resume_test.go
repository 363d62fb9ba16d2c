package repostore

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// young is a cache that began at a revision.
type young struct {
	storage.Interface
	begin int64
	asked []string
	fill  int // events that each watch has at once
}

func (y *young) Watch(_ context.Context, _ string, opts storage.ListOptions) (watch.Interface, error) {
	y.asked = append(y.asked, opts.ResourceVersion)
	w := watch.NewFakeWithChanSize(10, false)
	if rv, _ := strconv.ParseInt(opts.ResourceVersion, 10, 64); rv < y.begin {
		err := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, y.begin))
		w.Error(&err.ErrStatus)
		w.Stop()
		return w, nil
	}
	for i := range y.fill {
		w.Add(aWidget(fmt.Sprint("o", i), ""))
	}
	return w, nil
}

// touch writes a key and returns the revision.
func touch(t *testing.T, etcd *clientv3.Client, key string) int64 {
	t.Helper()
	r, err := etcd.Put(t.Context(), key, "x")
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Revision
}

// A client whose version is older than the cache goes on where nothing happened in
// between, and is told so where something did.
func TestResumingWatches(t *testing.T) {
	w := newWorld(t)
	prefix := w.prefix + "/views" + testPrefix + "/"
	first := touch(t, w.etcd, prefix+"one/a")
	old := touch(t, w.etcd, w.prefix+"/elsewhere")
	begin := touch(t, w.etcd, w.prefix+"/elsewhere")
	touch(t, w.etcd, prefix+"one/a") // the cache has it
	cache := &young{begin: begin}
	r := &resuming{Interface: cache, history: patientHistory(w.etcd, prefix)}
	open := func(rv int64) (refused bool) {
		t.Helper()
		cache.asked = nil
		got, err := r.Watch(t.Context(), testPrefix, storage.ListOptions{ResourceVersion: strconv.FormatInt(rv, 10)})
		if err != nil {
			t.Fatal(err)
		}
		defer got.Stop()
		if rv >= cache.begin || len(cache.asked) == 2 {
			return false // it goes on, or begins again where the cache does
		}
		select { // the event comes by a goroutine
		case e := <-got.ResultChan():
			err := apierrors.FromObject(e.Object)
			if e.Type != watch.Error || !apierrors.IsResourceExpired(err) {
				t.Errorf("from %d: %s %v", rv, e.Type, err)
			}
		case <-time.After(patience):
			t.Fatalf("from %d: nothing is told", rv)
		}
		return true
	}
	if open(begin) || len(cache.asked) != 1 {
		t.Errorf("from the cache's begin: asked for %v", cache.asked)
	}
	for _, rv := range []int64{first, old} {
		if open(rv) || len(cache.asked) != 2 || cache.asked[1] != strconv.FormatInt(begin, 10) {
			t.Errorf("from %d, before a quiet time: asked for %v", rv, cache.asked)
		}
	}
	if from := r.history.from; from != first {
		t.Errorf("known to be quiet from %d, want %d", from, first)
	}
	deleted, err := w.etcd.Delete(t.Context(), prefix+"one/a")
	if err != nil {
		t.Fatal(err)
	}
	cache.begin = deleted.Header.Revision
	if !open(begin) {
		t.Error("from before a deletion: not refused")
	}
	if open(deleted.Header.Revision) {
		t.Error("refused after it")
	}
	if _, err := w.etcd.Compact(t.Context(), deleted.Header.Revision); err != nil {
		t.Fatal(err)
	}
	cache.begin = touch(t, w.etcd, w.prefix+"/elsewhere")
	if !open(deleted.Header.Revision - 1) {
		t.Error("from before history: not refused")
	}
}

// What was taken from a watch to look at it isn't lost.
func TestResumingKeepsEvents(t *testing.T) {
	cache := &young{fill: 3}
	r := &resuming{Interface: cache}
	w, err := r.Watch(t.Context(), testPrefix, storage.ListOptions{ResourceVersion: "7"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*widget).Name != fmt.Sprint("o", i) {
			t.Errorf("event %d: %v", i, e)
		}
	}
	w.Stop()
	w.Stop()
	if e, open := <-w.ResultChan(); open {
		t.Errorf("after the end: %v", e)
	}
}
