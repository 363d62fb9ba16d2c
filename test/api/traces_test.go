package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testotlp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// tracedEnv is an env whose server exports all spans to a collector. Its event
// source never delivers, so that what a request finds is what the request fetched.
func tracedEnv(t *testing.T, a *account, perMillion int) (*env, *testotlp.Collector) {
	t.Helper()
	c := newCollector(t)
	e := &env{server: newServerWith(t, a.pds.PLCURL, traced(t, c, perMillion)), account: a, proxy: newProxy(t, headless(t, a))}
	e.mount(t, deaf)
	return e, c
}

// headless is a's account behind a proxy that fails the test where a PDS is told of
// a trace.
func headless(t *testing.T, a *account) *account {
	t.Helper()
	u, err := url.Parse(a.pds.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		for _, h := range []string{"Traceparent", "Tracestate", "Baggage"} {
			if v := r.In.Header.Get(h); v != "" {
				t.Errorf("the PDS is sent %s %s with %s", h, v, r.In.URL.Path)
			}
		}
		r.SetURL(u)
	}}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	front := *a.pds
	front.URL = s.URL
	return &account{Account: a.Account, pds: &front}
}

// ours are the spans that are compared: the request, the storage's steps, the calls
// to the PDS.
var ours = []string{"PATCH ", "repostore.barrier", "repostore.ingest", "repostore.intent", "repostore.put", "repostore.finalize", "repostore.compare", "com.atproto."}

// patchTraced sends a patch as the aggregator does for one whose trace began with
// kubectl's request, and returns the trace once its spans have arrived.
func (e *env) patchTraced(t *testing.T, c *testotlp.Collector, name, body string) []*testotlp.Span {
	t.Helper()
	id := make([]byte, 24)
	_, _ = rand.Read(id)
	trace, parent := hex.EncodeToString(id[:16]), hex.EncodeToString(id[16:])
	e.must(t, request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: body,
		header: http.Header{"Traceparent": {"00-" + trace + "-" + parent + "-01"}}})
	var spans []*testotlp.Span
	waitFor(t, "the request's span", func() error {
		spans = c.Trace(trace)
		if slices.ContainsFunc(spans, func(s *testotlp.Span) bool { return hex.EncodeToString(s.ParentSpanId) == parent }) {
			return nil
		}
		return fmt.Errorf("%d spans", len(spans))
	})
	return spans
}

// TestTraceOfAPatch: a patch is one trace, from the aggregator's span through the
// storage's steps down to each call to the PDS. The PDS is not told of it.
func TestTraceOfAPatch(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	e, c := tracedEnv(t, a, 0) // only what is sampled already
	const patch = "PATCH /apis/socialweb.computer/v1alpha1/infras/{:name}"

	e.createSettled(t, newInfra("a", "x"))
	got := testotlp.Tree(e.patchTraced(t, c, "a", `{"spec":{"description":"known"}}`), ours...)
	want := []string{
		patch,
		patch + " > repostore.finalize",
		patch + " > repostore.intent",
		patch + " > repostore.put",
		patch + " > repostore.put > com.atproto.repo.putRecord",
	}
	if !slices.Equal(got, want) {
		t.Errorf("trace\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// An edit that the server has not heard of costs the write its swap, and a record
	// that it has not heard of a look at the whole repository.
	a.put(t, "a", infraRecord("edited elsewhere"))
	got = testotlp.Tree(e.patchTraced(t, c, "a", `{"spec":{"description":"raced"}}`), ours...)
	want = append(want,
		patch+" > repostore.ingest",
		patch+" > repostore.ingest > com.atproto.sync.getRecord")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("trace of a lost swap\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	a.put(t, "b", infraRecord("made elsewhere"))
	got = testotlp.Tree(e.patchTraced(t, c, "b", `{"spec":{"description":"new"}}`), ours...)
	for _, w := range []string{
		patch + " > repostore.barrier > com.atproto.sync.getLatestCommit",
		patch + " > repostore.barrier > repostore.compare > repostore.ingest > com.atproto.sync.getRecord",
		patch + " > repostore.put > com.atproto.repo.putRecord",
		patch + " > repostore.finalize",
	} {
		if !slices.Contains(got, w) {
			t.Errorf("trace of a barrier lacks %s:\n%s", w, strings.Join(got, "\n"))
		}
	}
}

// TestTraceOfKubectl: one kubectl patch is one trace that writes.
func TestTraceOfKubectl(t *testing.T) {
	t.Parallel()
	e, c := tracedEnv(t, onEmbedded(t), 1_000_000)
	e.createSettled(t, newInfra("a", "x"))
	e.kubectl(t, "patch", "infra", "a", "--type=merge", "-p", `{"spec":{"description":"by kubectl"}}`)
	const patch = "PATCH /apis/socialweb.computer/v1alpha1/infras/{:name}"
	waitFor(t, "its trace", func() error {
		roots := c.Named(patch)
		if len(roots) != 1 {
			return fmt.Errorf("%d spans %s", len(roots), patch)
		}
		got := testotlp.Tree(c.Trace(hex.EncodeToString(roots[0].TraceId)), ours...)
		return contains(strings.Join(got, "\n"), patch+" > repostore.intent", patch+" > repostore.put > com.atproto.repo.putRecord", patch+" > repostore.finalize")
	})
}

// TestTracesByThemselves: with a sampling rate, what happens without a request (a
// publication, an ingest) is a trace of its own; and none holds what is private or
// secret, nor what is in a record.
func TestTracesByThemselves(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	e, c := tracedEnv(t, a, 1_000_000)
	obj, words := private("a")
	obj.Spec.Description = "description-word"
	e.create(t, obj)
	e.setPhase(t, "a", v1alpha1.PhaseDeployed)
	a.put(t, "bad", record{"$type": infraCollection, "description": "description-word", "contracts": "contracts-word"})
	e.setRepo(t, func(s *v1alpha1.AtprotoRepoSpec) { s.EventSource, s.JetstreamURL = v1alpha1.EventSourceFirehose, "" })
	waitFor(t, "traces of their own", func() error {
		return contains(c.Text(), "repostore.publish", "repostore.ingest", "com.atproto.repo.putRecord")
	})
	text := c.Text()
	secrets.Lock()
	defer secrets.Unlock()
	for _, w := range append(slices.Clone(secrets.words), append(words, "description-word", "contracts-word")...) {
		// Words that say what kind of request it was stand in paths and names.
		if w != "" && !slices.Contains([]string{"manager-word", "generation", "resourceVersion", "kcp.io", "conditions", "managedFields"}, w) && strings.Contains(text, w) {
			t.Errorf("a trace holds %q", w)
		}
	}
}
