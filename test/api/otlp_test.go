package api

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// collector is an OTLP collector that keeps what it is sent in memory.
type collector struct {
	collectortrace.UnimplementedTraceServiceServer
	addr string

	mu    sync.Mutex
	spans []*tracev1.Span
}

// newCollector starts a collector. It ends with the test.
func newCollector(t *testing.T) *collector {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{addr: l.Addr().String()}
	s := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(s, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return c
}

// Export implements collectortrace.TraceServiceServer.
func (c *collector) Export(_ context.Context, r *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

// traced makes a server that exports to c: every millionth of a million traces
// that begin with it, as the generic options say it.
func traced(t *testing.T, c *collector, perMillion int) func(*apiserver.Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	config := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: %d\n", c.addr, perMillion)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *apiserver.Options) { o.Recommended.Traces.ConfigFile = path }
}

// of are the spans of a trace.
func (c *collector) of(traceID string) (out []*tracev1.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == traceID {
			out = append(out, s)
		}
	}
	return out
}

// named are the spans of a name.
func (c *collector) named(name string) (out []*tracev1.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// text is everything that was exported, in words.
func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, s := range c.spans {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// tree says which spans are below which, sorted: "parent > child > …" from the root
// on. Only the spans whose names begin with one of the prefixes are named.
func tree(spans []*tracev1.Span, prefixes ...string) []string {
	byID := map[string]*tracev1.Span{}
	for _, s := range spans {
		byID[string(s.SpanId)] = s
	}
	named := func(s *tracev1.Span) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.Name, p) })
	}
	var out []string
	for _, s := range spans {
		if !named(s) {
			continue
		}
		path := []string{s.Name}
		for p := byID[string(s.ParentSpanId)]; p != nil; p = byID[string(p.ParentSpanId)] {
			if named(p) {
				path = append(path, p.Name)
			}
		}
		slices.Reverse(path)
		out = append(out, strings.Join(path, " > "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
