package repostore

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A run that callers share belongs to the hub: it has nothing of the request that
// began it but the workspace, goes on when that leaves, and ends with the hub,
// which waits for it: TestMain finds what is left behind.
func TestFlightBelongsToTheHub(t *testing.T) {
	w := newWorld(t)
	r := w.replica("A")
	inside, ended := make(chan context.Context), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- r.hub.Run(ctx) }()
	eventually(t, "the hub to run", r.hub.running.Load)
	eventually(t, "its base", func() bool { r.hub.mu.RLock(); defer r.hub.mu.RUnlock(); return r.hub.base != nil })
	f := flight{owner: r.hub, workspace: w.ws, timeout: patience}
	work := func(ctx context.Context) error { // the second run begins when all ends
		select {
		case inside <- ctx:
			<-ctx.Done()
			close(ended)
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	caller, leave := context.WithCancel(request.WithUser(warning.WithWarningRecorder(t.Context(), &warnings{}), &user.DefaultInfo{Name: "alice"}))
	left := make(chan error, 1)
	go func() { left <- f.do(caller, work) }()
	run := <-inside
	if u, ok := request.UserFrom(run); ok {
		t.Errorf("it runs as %s", u.GetName())
	}
	var heard warnings
	warning.AddWarning(run, "", "x") // to nobody
	if len(heard.all) > 0 {
		t.Errorf("the caller heard %q", heard.all)
	}
	if ws, _ := WorkspaceFrom(run); ws != w.ws {
		t.Errorf("it runs in workspace %q", ws)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v", err)
	}
	if run.Err() != nil {
		t.Error("the run ended with its caller")
	}
	second := make(chan error, 1)
	go func() { second <- f.do(t.Context(), work) }()
	eventually(t, "a second caller", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.next != nil })
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	default:
		t.Error("the hub ended before the run")
	}
	if err := <-second; !errors.Is(err, errStopping) {
		t.Errorf("the second caller: %v", err)
	}
	if err := f.do(t.Context(), work); !errors.Is(err, errStopping) {
		t.Errorf("after the end: %v", err)
	}
}

// A barrier that hangs when the server stops ends with it, and is told as an
// outage.
func TestBarrierEndsWithTheHub(t *testing.T) {
	w := newWorld(t)
	r := w.replica("A")
	asked := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	w.repo.hook = func(ctx context.Context, call string, _ atproto.Key) memFault {
		if call == "latest" {
			close(asked)
			<-ctx.Done()
			return memFault{err: errors.Join(atproto.ErrUnavailable, ctx.Err())}
		}
		return memFault{}
	}
	r.hub.mu.Lock()
	r.hub.base = ctx // as Run does; its other goroutines would ask too
	r.hub.mu.Unlock()
	list := start(func() (*widget, error) {
		_, err := r.list(r.ctx())
		return nil, err
	})
	<-asked
	stop()
	if res := ended(t, "the list", list); !apierrors.IsServiceUnavailable(res.err) || !strings.Contains(res.err.Error(), errStopping.Error()) {
		t.Errorf("a list of a server that stops: %v", res.err)
	}
	r.hub.wg.Wait()
}
