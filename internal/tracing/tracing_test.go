package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// recorder is a provider whose spans are kept.
func recorder(sampler sdktrace.Sampler) (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	r := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r), sdktrace.WithSampler(sdktrace.ParentBased(sampler))), r
}

// TestChild: a child is below the span of its context, and is of the same provider.
func TestChild(t *testing.T) {
	p, r := recorder(sdktrace.AlwaysSample())
	ctx, root := Start(t.Context(), p, "root", attribute.String("a", "b"))
	ctx, child := Child(ctx, "child", trace.SpanKindClient)
	_, grandchild := Start(ctx, nil, "grandchild")
	child.Set(attribute.Int("status", 200))
	grandchild.End("")
	child.End("Unavailable")
	root.End("")
	spans := r.Ended()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	g, c, top := spans[0], spans[1], spans[2]
	if g.Parent().SpanID() != c.SpanContext().SpanID() || c.Parent().SpanID() != top.SpanContext().SpanID() || top.Parent().IsValid() ||
		c.SpanKind() != trace.SpanKindClient {
		t.Errorf("spans %v, %v, %v", g.Parent(), c.Parent(), top.Parent())
	}
	if got := fmt.Sprint(c.Attributes()); !strings.Contains(got, "status") || !strings.Contains(got, "Unavailable") || c.Status().Description != "Unavailable" {
		t.Errorf("child with %s, %+v", got, c.Status())
	}
	if top.Status().Description != "" || len(top.Events()) != 0 {
		t.Errorf("root with %+v", top.Status())
	}
}

// TestNobodyRecords: without a recorded parent there is no child, without a provider
// no trace, and a trace that was not sampled isn't begun anew below its request.
func TestNobodyRecords(t *testing.T) {
	p, r := recorder(sdktrace.NeverSample())
	unsampled, root := p.Tracer("test").Start(t.Context(), "request")
	always, kept := recorder(sdktrace.AlwaysSample())
	for name, start := range map[string]func() (context.Context, Span){
		"no parent":        func() (context.Context, Span) { return Child(t.Context(), "x", trace.SpanKindInternal) },
		"no provider":      func() (context.Context, Span) { return Start(t.Context(), nil, "x") },
		"unsampled parent": func() (context.Context, Span) { return Start(unsampled, always, "x") },
	} {
		ctx, span := start()
		span.Set(attribute.String("a", "b"))
		span.End("Error")
		if span.span != nil || trace.SpanFromContext(ctx).IsRecording() {
			t.Errorf("%s: it is recorded", name)
		}
	}
	root.End()
	if n := len(r.Ended()) + len(kept.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// TestKind: of an error its kind is told and not its text.
func TestKind(t *testing.T) {
	for want, err := range map[string]error{
		"":                 nil,
		"Canceled":         fmt.Errorf("x: %w", context.Canceled),
		"DeadlineExceeded": fmt.Errorf("x: %w", context.DeadlineExceeded),
		"Error":            errors.New("what a PDS said"),
	} {
		if got := Kind(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
