// Package tracing makes the spans of what happens below a request: the storage's
// steps and the calls to a PDS. They are OpenTelemetry's, exported as the server's
// --tracing-config-file says.
//
// A span names objects, repositories and methods. What an error says is not told,
// only its kind: a PDS's message might quote what it was sent.
package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of all spans of ours.
const scope = "socialweb.computer/infra-apiserver"

// Span is one step. The zero value is a span that nobody records.
type Span struct{ span trace.Span }

// Child begins a span below the one in ctx. Where that isn't recorded, nor is this.
func Child(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	return start(ctx, parent.TracerProvider(), name, kind, attributes)
}

// Start is Child for a step that may also happen by itself, without a request: then
// it begins a trace of its own, by p. A nil p records none.
func Start(ctx context.Context, p trace.TracerProvider, name string, attributes ...attribute.KeyValue) (context.Context, Span) {
	if p == nil || trace.SpanContextFromContext(ctx).IsValid() {
		return Child(ctx, name, trace.SpanKindInternal, attributes...)
	}
	return start(ctx, p, name, trace.SpanKindInternal, attributes)
}

func start(ctx context.Context, p trace.TracerProvider, name string, kind trace.SpanKind, attributes []attribute.KeyValue) (context.Context, Span) {
	ctx, span := p.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...)) //nolint:spancheck // Span.End ends it
	return ctx, Span{span}                                                                                       //nolint:spancheck // the same
}

// Set adds attributes.
func (s Span) Set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}

// End ends the span. kind is that of the failure; "": there was none.
func (s Span) End(kind string) {
	if s.span == nil {
		return
	}
	if kind != "" {
		s.span.SetAttributes(attribute.String("error.type", kind))
		s.span.SetStatus(codes.Error, kind)
	}
	s.span.End()
}

// Kind is the kind of an error that no layer knows better: "" where there is none.
func Kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "DeadlineExceeded"
	default:
		return "Error"
	}
}
