package repostore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// editElsewhere changes an object's record past the server.
func (r *replica) editElsewhere(name, text string) {
	r.t.Helper()
	if _, err := r.repo.PutRecord(withActor(r.t.Context(), foreigner), recordKey(name), widgetRecord(text), atproto.Swap{Any: true}); err != nil {
		r.t.Fatal(err)
	}
}

// observed is what the hub tells of the world's repository.
func (r *replica) observed() metrics.Repository {
	r.t.Helper()
	all := r.hub.observe().Repositories
	if len(all) != 1 || all[0].Workspace != r.ws || all[0].Name != testRepo {
		r.t.Fatalf("repositories %+v", all)
	}
	return all[0]
}

// TestLagIsTold: a repository lags from the moment at which a commit is known until
// it is ingested, by as many commits as there are.
func TestLagIsTold(t *testing.T) {
	t.Parallel()
	r := alone(t)
	if got := r.observed(); got.Lag != 0 || got.LagRevs != 0 || !got.Reachable || !got.Streaming {
		t.Errorf("at first %+v", got)
	}
	for i := range 3 {
		r.editElsewhere("o", fmt.Sprint(i))
		r.src.deliver(0, false)
	}
	r.clock.jump(time.Minute)
	if got := r.observed(); got.Lag < time.Minute || got.LagRevs != 3 {
		t.Errorf("with three commits in line %+v", got)
	}
	r.deliverAll()
	if got := r.observed(); got.Lag != 0 || got.LagRevs != 0 {
		t.Errorf("after the ingest %+v", got)
	}
	// A head that no event announced is a lag by an unknown number.
	r.editElsewhere("o", "unannounced")
	if _, err := r.m().latest(r.ctx()); err != nil {
		t.Fatal(err)
	}
	r.clock.jump(time.Minute)
	if got := r.observed(); got.Lag < time.Minute || got.LagRevs != 1 {
		t.Errorf("behind an unannounced head %+v", got)
	}
}

// TestOutageIsTold: an outage of the PDS, and its end; a repository without access
// is told of as little as one that is not mounted.
func TestOutageIsTold(t *testing.T) {
	t.Parallel()
	r := alone(t)
	r.repo.setDown(atproto.ErrUnavailable)
	if _, err := r.m().latest(r.ctx()); err == nil {
		t.Fatal("it answered")
	}
	r.src.disconnect()
	if got := r.observed(); got.Reachable || got.Streaming {
		t.Errorf("during the outage %+v", got)
	}
	r.repo.setDown(nil)
	r.src.reconnect()
	r.deliverAll()
	if got := r.observed(); !got.Reachable || !got.Streaming {
		t.Errorf("after it %+v", got)
	}
	r.mount(AccessNone)
	if got := r.hub.observe().Repositories; len(got) != 0 {
		t.Errorf("without access %+v", got)
	}
	r.hub.RemoveRepo(r.ws, testRepo)
	r.hub.ExpectRepo(ExpectedRepo{Workspace: r.ws, Name: testRepo, DID: testDID})
	if got := r.hub.observe(); len(got.Repositories) != 0 || got.Waiting != 1 {
		t.Errorf("unmounted %+v", got)
	}
}

// TestIntentsAreTold: the open intents, while their owners may be at work, once they
// are not, and until they are settled.
func TestIntentsAreTold(t *testing.T) {
	t.Parallel()
	r := alone(t)
	counts := func() string {
		r.hub.sweep(r.ctx(), atOnce)
		st := r.hub.observe()
		return fmt.Sprint(st.IntentsLive, st.IntentsExpired)
	}
	it := &intent{Op: opUpdate, Nonce: "n", URI: recordURIOf("o"), Base: "b", Target: "t"}
	sn, err := r.store.look(r.ctx(), r.ref("o"))
	if err != nil {
		t.Fatal(err)
	}
	it.Base, it.BaseRevision = sn.stamp.CID, sn.revision
	if ok, err := r.store.takeIntent(r.ctx(), r.ref("o"), it, r.m()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := counts(); got != "1 0" {
		t.Errorf("in flight: %s", got)
	}
	r.clock.jump(time.Minute)
	r.repo.setDown(atproto.ErrUnavailable)
	for range 2 {
		if got := counts(); got != "0 1" {
			t.Errorf("expired, and nobody can settle it: %s", got)
		}
	}
	r.repo.setDown(nil)
	counts() // settles it
	if got := counts(); got != "0 0" {
		t.Errorf("settled: %s", got)
	}
}

// TestUnpublishedIsTold: objects wait from their first change until they are
// published, and only where this replica publishes.
func TestUnpublishedIsTold(t *testing.T) {
	t.Parallel()
	r := alone(t)
	var u unpublished
	now := time.Unix(1000, 0)
	told := func(at time.Time) string {
		publishing, waiting, oldest := u.observe(at)
		return fmt.Sprint(publishing, waiting, oldest)
	}
	i := item{r.store, r.ref("o")}
	u.add(i, now)
	if got := told(now); got != "false 0 0s" {
		t.Errorf("on a replica that doesn't publish: %s", got)
	}
	end := u.begin()
	u.add(i, now)
	u.add(i, now.Add(time.Second))
	u.add(item{r.store, r.ref("p")}, now.Add(time.Second))
	if got := told(now.Add(2 * time.Second)); got != "true 2 2s" {
		t.Errorf("with two: %s", got)
	}
	since := u.take(i)
	if got := told(now.Add(2 * time.Second)); got != "true 1 1s" {
		t.Errorf("with one that is looked at: %s", got)
	}
	u.add(i, now.Add(2*time.Second)) // while it is looked at
	u.putBack(i, since)
	if got := told(now.Add(3 * time.Second)); got != "true 2 3s" {
		t.Errorf("with one that is tried again: %s", got)
	}
	end()
	u.putBack(i, since)
	if got := told(now); got != "false 0 0s" {
		t.Errorf("after the term: %s", got)
	}
}

// TestSpansTellKinds: what no request caused is a trace of its own, with the steps
// below it; and of a failure the kind is told, not what a PDS said.
func TestSpansTellKinds(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	w := newWorld(t)
	r := w.replica("A", func(c *HubConfig) { c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)) })
	if _, err := r.create(r.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	if err := r.setPhase(r.ctx(), "o", "Up"); err != nil {
		t.Fatal(err)
	}
	spans.Reset()
	r.publish(t)
	byName := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		byName[s.Name()] = s
	}
	root := byName["repostore.publish"]
	if root == nil || root.Parent().IsValid() {
		t.Fatalf("spans %v", byName)
	}
	for _, step := range []string{"repostore.intent", "repostore.put", "repostore.finalize"} {
		if s := byName[step]; s == nil || s.Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is not below the publication", step)
		}
	}
	spans.Reset()
	r.repo.setDown(fmt.Errorf("%w: it said hello", atproto.ErrRateLimited))
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Spec.Text = "hello"; return nil }); err == nil {
		t.Fatal("it was written")
	}
	var told []string
	for _, s := range spans.Ended() {
		text := fmt.Sprint(s.Attributes(), s.Events(), s.Status())
		if strings.Contains(text, "hello") {
			t.Errorf("%s tells %s", s.Name(), text)
		}
		told = append(told, s.Name()+" "+s.Status().Description)
	}
	if !slices.Contains(told, "repostore.put RateLimited") {
		t.Errorf("spans %q", told)
	}
}

// TestKindsOfErrors: each sentinel has a name of its own.
func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range kinds {
		if got := kindOf(fmt.Errorf("x: %w: %w", k.err, errors.New("hello"))); got != k.name || seen[got] {
			t.Errorf("%v is %q", k.err, got)
		}
		seen[k.name] = true
	}
	if got := kindOf(atproto.ErrInvalidSwap); got != "InvalidSwap" {
		t.Errorf("a swap is %q", got)
	}
}
