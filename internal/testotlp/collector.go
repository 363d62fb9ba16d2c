// Package testotlp is an OpenTelemetry collector for tests: it takes spans over OTLP
// and keeps them in memory.
package testotlp

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"sync"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Span as it was exported.
type Span = tracev1.Span

// Collector of spans.
type Collector struct {
	collectortrace.UnimplementedTraceServiceServer

	addr   string
	server *grpc.Server
	done   chan struct{}

	mu    sync.Mutex // guards spans
	spans []*Span
}

// Start starts a collector on loopback. It runs until Close.
func Start() (*Collector, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("OTLP collector: %w", err)
	}
	c := &Collector{addr: l.Addr().String(), server: grpc.NewServer(), done: make(chan struct{})}
	collectortrace.RegisterTraceServiceServer(c.server, c)
	go func() {
		defer close(c.done)
		_ = c.server.Serve(l) // it ends with Close
	}()
	return c, nil
}

// Close ends it.
func (c *Collector) Close() {
	c.server.Stop()
	<-c.done
}

// Config is a TracingConfiguration, as --tracing-config-file takes it, that exports
// to the collector: every trace that somebody sampled, and of those that begin in the
// server so many of a million.
func (c *Collector) Config(perMillion int) string {
	return fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: %d\n", c.addr, perMillion)
}

// Export implements collectortrace.TraceServiceServer.
func (c *Collector) Export(_ context.Context, r *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

// Find returns the spans that match.
func (c *Collector) Find(match func(*Span) bool) (out []*Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if match(s) {
			out = append(out, s)
		}
	}
	return out
}

// Named are the spans of a name.
func (c *Collector) Named(name string) []*Span {
	return c.Find(func(s *Span) bool { return s.Name == name })
}

// Trace are the spans of a trace, whose ID is hexadecimal.
func (c *Collector) Trace(id string) []*Span {
	return c.Find(func(s *Span) bool { return hex.EncodeToString(s.TraceId) == id })
}

// Text is everything that was exported, in words.
func (c *Collector) Text() string {
	var b strings.Builder
	for _, s := range c.Find(func(*Span) bool { return true }) {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}
