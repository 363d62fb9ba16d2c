package repostore

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// seenWatches are the open watches of a case that takes what doesn't come within 150 ms
// for lost.
type seenWatches struct {
	mu  sync.Mutex
	all []*seenWatch
}

// seenWatch is a watch whose events are there before anybody takes them.
type seenWatch struct {
	watch.Interface
	of  *seenWatches
	key string
	out chan watch.Event
	rev uint64 // of the last event
}

// of is w, whose events are seen from now on.
func (s *seenWatches) of(key string, w watch.Interface) watch.Interface {
	out := &seenWatch{Interface: w, of: s, key: key, out: make(chan watch.Event, 1000)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, out)
	go out.follow()
	return out
}

// follow ends with the watch.
func (w *seenWatch) follow() {
	for e := range w.Interface.ResultChan() {
		w.out <- e
		w.see(e.Object)
	}
	close(w.out)
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.all = slices.DeleteFunc(w.of.all, func(o *seenWatch) bool { return o == w })
}

func (w *seenWatch) see(obj runtime.Object) {
	if o, ok := obj.(runtime.CacheableObject); ok {
		obj = o.GetObject()
	}
	if o, ok := obj.(storage.WatchEventWithRecordTime); ok {
		obj = o.Unwrap()
	}
	rev, err := storage.APIObjectVersioner{}.ObjectResourceVersion(obj)
	if err != nil {
		return // an error has none
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.rev = max(w.rev, rev)
}

// ResultChan implements watch.Interface.
func (w *seenWatch) ResultChan() <-chan watch.Event { return w.out }

// reached tells whether every watch of the key has come to a revision.
func (s *seenWatches) reached(key string, rev uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.all, func(w *seenWatch) bool { return strings.HasPrefix(key, w.key) && w.rev < rev })
}
