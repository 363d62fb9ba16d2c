package bindings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/testkcp"
)

// look is a Watcher by hand.
type look struct {
	*Watcher
	t     *testing.T
	kcp   *testkcp.KCP
	clock *testclock.FakeClock

	mu          sync.Mutex
	of, changed []string
	bound, gone int
	complete    bool
}

// newLook has w1 and w2 on the first shard, w3 on the second, and objects of all.
func newLook(t *testing.T) *look {
	t.Helper()
	l := &look{t: t, kcp: testkcp.Start(t, 2), clock: testclock.NewFakeClock(time.Now()), of: []string{"w1", "w2", "w3"}}
	l.kcp.Shard(0).Bind("w1", true)
	l.kcp.Shard(0).Bind("w2", true)
	l.kcp.Shard(1).Bind("w3", true)
	l.restart()
	return l
}

// restart forgets everything.
func (l *look) restart() {
	l.t.Helper()
	client, err := export.New(l.kcp.Config, testkcp.Export)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.CloseIdle)
	l.Watcher = New(Config{
		Export: client, Clock: l.clock,
		Workspaces: func() []string { return l.of },
		Changed: func(ws string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.changed = append(l.changed, ws)
		},
		Observe: func(bound, gone int, complete bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.bound, l.gone, l.complete = bound, gone, complete
		},
	})
}

// after looks once, some time later, and checks the states of w1, w2 and w3.
func (l *look) after(d time.Duration, want ...State) {
	l.t.Helper()
	l.clock.Step(d)
	l.Look(l.t.Context())
	for i, s := range want {
		if got := l.State(fmt.Sprintf("w%d", i+1)); got != s {
			l.t.Errorf("w%d: state %d, want %d", i+1, got, s)
		}
	}
}

// One that isn't shown is gone after two complete rounds that are far enough apart, and
// bound as soon as it is shown. The others are what they were.
func TestGone(t *testing.T) {
	l := newLook(t)
	if got := l.State("w1"); got != Unknown {
		t.Errorf("before any round: %d", got)
	}
	l.after(0, Bound, Bound, Bound)
	l.kcp.Shard(0).Unbind("w1")
	l.after(Every, Bound, Bound, Bound)
	l.after(Apart-time.Second, Bound, Bound, Bound)
	l.changed = nil
	l.after(time.Second, Gone, Bound, Bound)
	if !slices.Equal(l.changed, []string{"w1"}) || l.bound != 2 || l.gone != 1 || !l.complete {
		t.Errorf("told of %q, %d bound, %d gone, complete %t", l.changed, l.bound, l.gone, l.complete)
	}
	l.changed = nil
	l.after(time.Hour, Gone, Bound, Bound)
	if len(l.changed) > 0 {
		t.Errorf("told twice of %q", l.changed)
	}
	l.kcp.Shard(1).Bind("w1", false) // on another shard, its claim not accepted
	l.after(0, Bound, Bound, Bound)
	if !slices.Equal(l.changed, []string{"w1"}) || l.gone != 0 {
		t.Errorf("told of %q, %d gone", l.changed, l.gone)
	}
	// Shown in between: the time begins anew.
	l.kcp.Shard(1).Unbind("w1")
	l.after(Every, Bound, Bound, Bound)
	l.kcp.Shard(1).Bind("w1", true)
	l.after(Every, Bound, Bound, Bound)
	l.kcp.Shard(1).Unbind("w1")
	l.after(Apart, Bound, Bound, Bound)
	l.after(Apart, Gone, Bound, Bound)
}

// As long as kcp's answer isn't whole nothing is concluded, however long that lasts.
func TestNothingIsConcludedOfHalfAnAnswer(t *testing.T) {
	on := func(path string, f func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, path) {
				return false
			}
			f(w)
			return true
		}
	}
	refuse := func(err *apierrors.StatusError) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { testkcp.Refuse(w, err) }
	}
	text := func(s string) func(http.ResponseWriter) { return func(w http.ResponseWriter) { fmt.Fprint(w, s) } }
	const list = `{"kind":"APIBindingList","items":[`
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"the slice is away":       on("endpointslices", refuse(apierrors.NewInternalError(errors.New("etcd")))),
		"the slice isn't there":   on("endpointslices", func(w http.ResponseWriter) { http.NotFound(w, nil) }),
		"another's slice":         on("endpointslices", text(`{"spec":{"export":{"name":"other"}}}`)),
		"no condition yet":        on("endpointslices", text(`{"spec":{"export":{"name":"computecontracts"}}}`)),
		"an endpoint of nonsense": on("endpointslices", text(`{"spec":{"export":{"name":"computecontracts"}},"status":{"endpoints":[{"url":"http://x"}]}}`)),
		"a shard is broken":       on("shard-b", refuse(apierrors.NewInternalError(errors.New("etcd")))),
		"a shard refuses":         on("shard-b", refuse(apierrors.NewForbidden(schema.GroupResource{Group: "apis.kcp.io", Resource: "apibindings"}, "", errors.New("denied")))),
		"a shard has no export":   on("shard-b", func(w http.ResponseWriter) { http.NotFound(w, nil) }),
		"a shard wants another":   on("shard-b", refuse(apierrors.NewUnauthorized("who"))),
		"no JSON":                 on("shard-b", text("ok")),
		"another list":            on("shard-b", text(`{"kind":"Status"}`)),
		"cut off":                 on("shard-b", text(list)),
		"the second page fails":   on("continue=250", refuse(apierrors.NewResourceExpired("too old"))),
		"of no workspace":         on("shard-b", text(list+`{"spec":{"reference":{"export":{"name":"computecontracts"}}}}]}`)),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLook(t)
			for i := range 300 {
				l.kcp.Shard(1).Bind(fmt.Sprintf("v%d", i), true)
			}
			l.after(0, Bound, Bound, Bound)
			if l.bound != 303 || !l.complete {
				t.Fatalf("%d bound", l.bound)
			}
			l.kcp.Shard(0).Unbind("w1")
			l.kcp.Fail(fault)
			for range 3 {
				l.after(time.Hour, Bound, Bound, Bound)
			}
			if l.complete {
				t.Error("a round was complete")
			}
			l.kcp.Fail(nil)
			l.after(time.Hour, Bound, Bound, Bound)
			l.after(Apart, Gone, Bound, Bound)
		})
	}
}

// While kcp says that the export isn't valid it shows no endpoint at all.
func TestInvalidExportLosesNobody(t *testing.T) {
	l := newLook(t)
	l.after(0, Bound, Bound, Bound)
	l.kcp.Invalidate("APIExportNotFound")
	l.after(time.Hour, Bound, Bound, Bound)
	l.after(time.Hour, Bound, Bound, Bound)
	l.restart()
	l.after(time.Hour, Unknown, Unknown, Unknown)
	l.after(time.Hour, Unknown, Unknown, Unknown)
	l.kcp.Invalidate("")
	l.after(0, Bound, Bound, Bound)
}

// kcp lists a shard no more once its last workspace has unbound. It is asked itself.
func TestShardWithoutWorkspaces(t *testing.T) {
	l := newLook(t)
	l.after(0, Bound, Bound, Bound)
	l.kcp.Shard(1).Unbind("w3")
	l.kcp.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "shard-b") {
			return false
		}
		testkcp.Refuse(w, apierrors.NewInternalError(errors.New("away")))
		return true
	})
	l.after(time.Hour, Bound, Bound, Bound)
	l.after(time.Hour, Bound, Bound, Bound)
	l.kcp.Fail(nil)
	l.after(0, Bound, Bound, Bound)
	l.after(Apart, Bound, Bound, Gone)
	// A slice that has lost its endpoints hides nobody who is there.
	l.kcp.Unlist(true)
	l.after(time.Hour, Bound, Bound, Gone)
	l.after(time.Hour, Bound, Bound, Gone)
	l.kcp.Unlist(false)
	// Where all that was seen at a shard is seen elsewhere, the shard counts no more.
	for _, ws := range []string{"w1", "w2"} {
		l.kcp.Shard(1).Bind(ws, true)
		l.kcp.Shard(0).Unbind(ws)
	}
	l.kcp.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "shard-a") {
			http.NotFound(w, r)
			return true
		}
		return false
	})
	l.after(0, Bound, Bound, Gone)
	if !l.complete {
		t.Error("it waits for a shard that has nobody")
	}
}

// One that starts knows nothing of a workspace that isn't shown until it is old enough, and
// one whose objects came after the last round is not taken for gone.
func TestStart(t *testing.T) {
	l := newLook(t)
	l.kcp.Shard(0).Unbind("w1")
	l.after(0, Unknown, Bound, Bound)
	l.after(Apart, Gone, Bound, Bound)
	l.restart()
	l.after(time.Hour, Unknown, Bound, Bound)
	l.after(Apart, Gone, Bound, Bound)
	l.of = append(l.of, "w4")
	if got := l.State("w4"); got != Unknown {
		t.Errorf("one that was not looked for: %d", got)
	}
	l.after(time.Hour, Gone, Bound, Bound)
	if got := l.State("w4"); got != Unknown {
		t.Errorf("after the first round: %d", got)
	}
	// What has no objects any more is forgotten.
	l.of = nil
	l.after(Every, Unknown, Bound, Bound)
	if l.gone != 0 || l.bound != 2 {
		t.Errorf("%d gone, %d bound", l.gone, l.bound)
	}
}

// It looks again and again, and ends.
func TestRun(t *testing.T) {
	l := newLook(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	rounds := make(chan struct{}, 1)
	l.Observe = func(int, int, bool) { rounds <- struct{}{} }
	go func() {
		defer close(ended)
		l.Run(ctx)
	}()
	<-rounds
	for range 3 {
		l.clock.Step(Every)
		<-rounds
	}
	cancel()
	<-ended
}
