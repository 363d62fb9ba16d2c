//go:build e2e

package lifecycle

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// quietKind is one of which nothing changes.
const quietKind = "ephemeralinfras"

// watched is what the i-th watch is of: every other one of the quiet kind.
func watched(i int) string { return []string{"infras", quietKind}[i%2] }

// watch keeps the i-th watch open until ctx ends, as an informer does.
func (l *load) watch(ctx context.Context, i int) {
	objects := plane.Admin().Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(watched(i)))
	rv := ""
	for ctx.Err() == nil {
		if rv == "" {
			list, err := objects.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				l.fail(ctx, "list: "+err.Error())
				return
			}
			rv = list.GetResourceVersion()
			for _, o := range list.Items {
				l.saw(i, o.GetName())
			}
		}
		w, begin, end, err := reopen(ctx, objects, rv)
		if err != nil {
			l.fail(ctx, fmt.Sprintf("watch %d, of %s, doesn't go on: %s", i, watched(i), err))
			return
		}
		rv = l.follow(w, i, rv, begin)
		end()
	}
}

// reopen goes on with a watch, which was asked for at begin and which end ends. It may be
// refused for a moment, but not for longer than a start may take.
func reopen(ctx context.Context, objects dynamic.ResourceInterface, rv string) (w watch.Interface, begin time.Time, end func(), err error) {
	ctx, end = context.WithCancel(ctx)
	err = harness.Poll(ctx, func(deadline context.Context) error {
		defer context.AfterFunc(deadline, end)()
		begin = time.Now()
		w, err = objects.Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true})
		return err
	})
	if err != nil {
		end()
	}
	return w, begin, end, err
}

// patience is how long the server lets a watch wait for what etcd knows of the past, before
// it tells it 410 (repostore's historyBounds).
const patience = time.Second

// follow reads the i-th watch to its end, and returns where to go on; "": list first.
func (l *load) follow(w watch.Interface, i int, rv string, begin time.Time) string {
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			if err := apierrors.FromObject(e.Object); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				late := time.Since(begin) >= patience
				l.count(func() {
					l.expired[watched(i)]++
					l.late = l.late || late
				})
				return ""
			}
			continue
		}
		if o, ok := e.Object.(*unstructured.Unstructured); ok {
			rv = o.GetResourceVersion()
			l.saw(i, o.GetName())
		}
	}
	l.count(func() { l.ended++ })
	return rv
}

// count changes what is counted.
func (l *load) count(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// saw takes down that the i-th watch has seen an object.
func (l *load) saw(i int, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[i] == nil {
		l.seen[i] = map[string]bool{}
	}
	l.seen[i][name] = true
}

// allSaw tells whether each of so many watches that is of the Infras has seen one.
func (l *load) allSaw(watches int, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var not []int
	for i := range watches {
		if watched(i) != quietKind && !l.seen[i][name] {
			not = append(not, i)
		}
	}
	if len(not) > 0 {
		return fmt.Errorf("%s was not seen by the watches %v", name, not)
	}
	return nil
}
