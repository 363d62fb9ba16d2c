package repostore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// resuming lets clients go on with a watch at a replica that started after the
// version that they have. The cache of such a replica begins with its start, and
// answers 410 to whoever comes with an older version, although nothing may have
// changed since: after a rolling update everybody who watches something quiet would
// list it again, all at once. etcd has the history, so it is asked whether anything
// happened in between. Where nothing did, the watch begins where the cache does,
// which is the same to the client.
type resuming struct {
	storage.Interface
	history *history
}

// Watch implements storage.Interface.
func (r *resuming) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := r.Interface.Watch(ctx, key, opts)
	if err != nil {
		return w, err
	}
	w, asked, begin := peek(w)
	if begin == 0 || !r.history.quiet(ctx, asked, begin) {
		return w, nil
	}
	w.Stop()
	opts.ResourceVersion = strconv.FormatInt(begin, 10)
	return r.Interface.Watch(ctx, key, opts)
}

// peek tells which version was asked for and from which on a watch could begin, if w
// was refused because the first is older than the cache; 0: it wasn't. The watch
// that it returns is to be used in place of w.
func peek(w watch.Interface) (out watch.Interface, asked, begin int64) {
	select {
	case e, open := <-w.ResultChan():
		if !open {
			return w, 0, 0
		}
		asked, begin = refusal(e)
		return withFirst(w, e), asked, begin
	default: // a refusal is there at once
		return w, 0, 0
	}
}

// refusal reads both from the words of the cache: nothing else tells them.
func refusal(e watch.Event) (asked, begin int64) {
	if e.Type != watch.Error {
		return 0, 0
	}
	err := apierrors.FromObject(e.Object)
	_, text, ok := strings.Cut(err.Error(), "too old resource version: ")
	if !ok || !apierrors.IsResourceExpired(err) {
		return 0, 0
	}
	if n, err := fmt.Sscanf(text, "%d (%d)", &asked, &begin); err != nil || n != 2 {
		return 0, 0
	}
	return asked, begin
}

// withFirst is w with an event that was taken from it.
func withFirst(w watch.Interface, first watch.Event) watch.Interface {
	out := &resumed{Interface: w, events: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(out.events)
		for e, open := first, true; open; e, open = <-w.ResultChan() {
			select {
			case out.events <- e:
			case <-out.stopped:
				return
			}
		}
	}()
	return out
}

type resumed struct {
	watch.Interface
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

// ResultChan implements watch.Interface.
func (r *resumed) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface.
func (r *resumed) Stop() {
	r.once.Do(func() {
		close(r.stopped)
		r.Interface.Stop()
	})
}
