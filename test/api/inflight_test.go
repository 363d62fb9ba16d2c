package api

import (
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
)

// TestWritesWaitForOneInFlight: while a PDS takes its time over a write, other
// writes of the same object wait for it, and none is refused.
func TestWritesWaitForOneInFlight(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "before"))
	arrived := make(chan struct{})
	e.proxy.Set(testproxy.Fault{Kind: testproxy.Slow, Delay: time.Second, Times: 1, Before: func() { close(arrived) }}, "com.atproto.repo.putRecord")
	begin, asked := time.Now(), e.proxy.Calls("com.atproto.sync.getRecord")
	var g errgroup.Group
	for i, body := range []string{
		`{"spec":{"description":"after"}}`, `{"metadata":{"labels":{"l":"set"}}}`, `{"metadata":{"annotations":{"a":"set"}}}`,
	} {
		if i == 1 {
			<-arrived
		}
		g.Go(func() error {
			if a := e.do(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: body}); a.status != http.StatusOK {
				t.Errorf("PATCH %s: %d %s %v", body, a.status, a.body, a.err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got := e.infra(t, "a")
	if got.Spec.Description != "after" || got.Labels["l"] != "set" || got.Annotations["a"] != "set" {
		t.Errorf("%+v", got)
	}
	// Each of the two that wait looks every 0.7 s, for as long as the put takes.
	if n, took := e.proxy.Calls("com.atproto.sync.getRecord")-asked, time.Since(begin); n > 5+5*int(took/time.Second) {
		t.Errorf("the PDS was asked %d times in %v", n, took)
	}
}

// TestCreatesWaitForOneInFlight: while a PDS takes its time over a creation, a
// second one of the same name waits, and is then told that the object exists.
func TestCreatesWaitForOneInFlight(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	arrived := make(chan struct{})
	e.proxy.Set(testproxy.Fault{Kind: testproxy.Slow, Delay: time.Second, Times: 1, Before: func() { close(arrived) }}, "com.atproto.repo.putRecord")
	first := make(chan answer, 1)
	go func() { first <- e.do(t, request{method: http.MethodPost, path: infras, body: manifest("a", "first")}) }()
	<-arrived
	second := e.do(t, request{method: http.MethodPost, path: infras, body: manifest("a", "second")})
	if a := <-first; a.status != http.StatusCreated {
		t.Errorf("first: %d %s", a.status, a.body)
	}
	if second.status != http.StatusConflict || second.failure.Reason != metav1.StatusReasonAlreadyExists {
		t.Errorf("second: %d %s", second.status, second.body)
	}
	if got := e.infra(t, "a"); got.Spec.Description != "first" {
		t.Errorf("object %q", got.Spec.Description)
	}
}
