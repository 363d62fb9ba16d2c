package repostore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// An edit made elsewhere shows in the next GET and the next LIST, each time,
// whether events come, come late or never come. TestImmediate does the same through
// the API, 1,000 times.
func TestConsistentReadsShowEveryForeignEdit(t *testing.T) {
	t.Parallel()
	edits := 300
	if raced {
		edits = 60
	}
	for _, mode := range []string{"events on", "events stalled", "no event source"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			r := w.prepareLive("A", func(c *HubConfig) { c.EventWait = time.Millisecond })
			m := MountedRepo{Workspace: w.ws, Name: testRepo, Repo: w.repo, Source: r.src, Default: true, Access: AccessReadWrite}
			switch mode {
			case "events stalled":
				r.src.stall()
			case "no event source":
				m.Source = nil
			}
			r.hub.SetRepo(m)
			r.hub.SetMountsLoaded()
			r.run()
			for i := range edits {
				name := fmt.Sprintf("o%d", i%7)
				if i%5 == 4 {
					w.repo.foreign(recordKey(name), nil)
					checkGone(t, r, name, i%2 == 0)
					continue
				}
				text := fmt.Sprint("edit ", i)
				w.repo.foreign(recordKey(name), widgetRecord(text))
				checkShows(t, r, name, text, i%2 == 0)
			}
		})
	}
}

// checkShows reads by GET and by LIST, in the order that getFirst says.
func checkShows(t *testing.T, r *replica, name, text string, getFirst bool) {
	t.Helper()
	get := func() {
		obj, err := r.get(r.ctx(), name)
		if err != nil || obj.Spec.Text != text {
			t.Fatalf("GET %s: %q, %v; want %q", name, obj.Spec.Text, err, text)
		}
	}
	if getFirst {
		get()
	}
	all, err := r.list(r.ctx())
	if err != nil || all[name] == nil || all[name].Spec.Text != text {
		t.Fatalf("LIST: %s is %v, %v; want %q", name, all[name], err, text)
	}
	get()
}

func checkGone(t *testing.T, r *replica, name string, getFirst bool) {
	t.Helper()
	if getFirst {
		if _, err := r.get(r.ctx(), name); !storage.IsNotFound(err) {
			t.Fatalf("GET of a record that was deleted: %v", err)
		}
	}
	all, err := r.list(r.ctx())
	if err != nil || all[name] != nil {
		t.Fatalf("LIST after the deletion of %s: %v, %v", name, all[name], err)
	}
	if _, err := r.get(r.ctx(), name); !storage.IsNotFound(err) {
		t.Fatalf("GET of a record that was deleted: %v", err)
	}
}

// A caller never shares a run of the flight that had begun before its call.
func TestFlightNeverSharesAnEarlierRun(t *testing.T) {
	f := flight{owner: newWorld(t).replica("A").hub, timeout: time.Minute}
	var mu sync.Mutex
	runs := 0
	begun, gate := make(chan int, 10), make(chan struct{})
	fn := func(context.Context) error {
		mu.Lock()
		runs++
		n := runs
		mu.Unlock()
		begun <- n
		<-gate
		return fmt.Errorf("run %d", n)
	}
	call := func() (<-chan error, *waitedFor) {
		c, ctx := make(chan error, 1), &waitedFor{Context: t.Context(), waits: make(chan struct{})}
		go func() { c <- f.do(ctx, fn) }()
		return c, ctx
	}
	first, _ := call()
	<-begun
	var later []<-chan error
	for range 5 {
		c, ctx := call()
		<-ctx.waits // it has joined a run
		later = append(later, c)
	}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.do(left, fn); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left got %v", err)
	}
	gate <- struct{}{}
	if err := <-first; err.Error() != "run 1" {
		t.Errorf("the first caller got %v", err)
	}
	<-begun
	close(gate)
	for _, c := range later {
		if err := <-c; err.Error() == "run 1" {
			t.Error("a later caller shared the earlier run")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if runs != 2 {
		t.Errorf("%d runs for callers that could share two", runs)
	}
}

// waitedFor is a context that tells when somebody waits for its end.
type waitedFor struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (c *waitedFor) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waits) })
	return c.Context.Done()
}

// outages are the ways in which a PDS can be out of reach, with what a read
// answers then.
var outages = map[string]struct {
	err  error
	want func(error) bool
}{
	"unavailable":   {atproto.ErrUnavailable, apierrors.IsServiceUnavailable},
	"deactivated":   {atproto.ErrRepoInactive, apierrors.IsServiceUnavailable},
	"not hosted":    {atproto.ErrRepoNotFound, apierrors.IsServiceUnavailable},
	"bad data":      {atproto.ErrBadData, apierrors.IsServiceUnavailable},
	"address":       {atproto.ErrAddressRefused, apierrors.IsServiceUnavailable},
	"token revoked": {atproto.ErrUnauthorized, apierrors.IsServiceUnavailable},
	"rate limited":  {&atproto.RateLimitError{Host: "memory.test", RetryAfter: 7 * time.Second}, apierrors.IsTooManyRequests},
}

// A PDS that doesn't answer is never taken for an absence; whatever asks no PDS
// goes on; other workspaces don't notice; all is well after it.
func TestDeadRepository(t *testing.T) {
	for name, o := range outages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.live("A")
			other := newMemRepo("did:plc:bobbobbobbobbobbobbobbobb")
			r.hub.SetRepo(MountedRepo{Workspace: "two", Name: testRepo, Repo: other, Default: true, Access: AccessReadWrite})
			if _, err := r.create(r.ctx(), aWidget("o", "base")); err != nil {
				t.Fatal(err)
			}
			all, err := r.list(r.ctx())
			if err != nil || all["o"] == nil {
				t.Fatalf("before the outage: %v, %v", all, err)
			}
			w.repo.setDown(o.err)
			if _, err := r.get(r.ctx(), "o"); !o.want(err) {
				t.Errorf("GET: %v", err)
			}
			if _, err := r.get(r.ctx(), "unknown"); !o.want(err) {
				t.Errorf("GET of an unknown name: %v", err)
			}
			if all, err := r.list(r.ctx()); !o.want(err) {
				t.Errorf("LIST: %v, %v", all, err)
			}
			checkOutsideTheOutage(t, r, revision(all["o"]))
			w.repo.setDown(nil)
			if obj, err := r.get(r.ctx(), "o"); err != nil || !hasLabels(obj, "meanwhile") {
				t.Errorf("GET after the outage: %v, %v", obj.Labels, err)
			}
			if _, err := r.list(r.ctx()); err != nil {
				t.Errorf("LIST after the outage: %v", err)
			}
		})
	}
}

// checkOutsideTheOutage: private writes, reads with a resourceVersion, watches,
// and another workspace.
func checkOutsideTheOutage(t *testing.T, r *replica, since int64) {
	t.Helper()
	opts := storage.ListOptions{ResourceVersion: fmt.Sprint(since), Recursive: true, Predicate: storage.Everything}
	ctx, cancel := context.WithTimeout(r.ctx(), patience)
	defer cancel()
	events, err := r.front.Watch(ctx, testPrefix+"/"+r.ws+"/", opts)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	defer events.Stop()
	if _, err := r.label(r.ctx(), "o", "meanwhile"); err != nil {
		t.Errorf("a private write: %v", err)
	}
	shown := false
	for e := range events.ResultChan() {
		if obj, ok := eventObject(e).(*widget); ok && hasLabels(obj, "meanwhile") {
			shown = true
			break
		}
	}
	if !shown {
		t.Error("the watch did not show the private write")
	}
	out := &widget{}
	if err := r.front.Get(r.ctx(), r.key("o"), storage.GetOptions{ResourceVersion: "0"}, out); err != nil || out.Name != "o" {
		t.Errorf("GET with resourceVersion=0: %v", err)
	}
	if all, err := r.cached(); err != nil || all["o"] == nil {
		t.Errorf("LIST with resourceVersion=0: %v, %v", all, err)
	}
	two := WithWorkspace(r.t.Context(), "two")
	if err := r.front.GetList(two, testPrefix+"/two/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &widgetList{}); err != nil {
		t.Errorf("LIST in another workspace: %v", err)
	}
	if err := r.front.GetList(WithWorkspace(r.t.Context(), AllWorkspaces), testPrefix+"/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &widgetList{}); err != nil {
		t.Errorf("LIST of all workspaces: %v", err)
	}
}

// eventObject is the object of an event, also where the Cacher has wrapped it to
// encode it once for all watchers.
func eventObject(e watch.Event) runtime.Object {
	if c, ok := e.Object.(runtime.CacheableObject); ok {
		return c.GetObject()
	}
	return e.Object
}
