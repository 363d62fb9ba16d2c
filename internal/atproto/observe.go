package atproto

import (
	"context"
	"errors"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"socialweb.computer/infra-apiserver/internal/tracing"
)

// span begins the span of one request to the PDS. The PDS isn't told of it: it is
// somebody else's, and what of ours belongs together is not for it to know.
func (r *rpc) span(ctx context.Context, c *call) (context.Context, tracing.Span) {
	host := r.host
	if u, err := url.Parse(r.host); err == nil {
		host = u.Host
	}
	attributes := []attribute.KeyValue{
		attribute.String("rpc.system", "xrpc"), attribute.String("rpc.method", c.method.String()), attribute.String("server.address", host),
	}
	return tracing.Child(ctx, c.method.String(), trace.SpanKindClient, attributes...)
}

// kinds are the sentinels by the names that metrics and traces give them. An error
// that wraps two has the name of the first.
var kinds = []struct {
	err  error
	name string
}{
	{ErrUnknownOutcome, "UnknownOutcome"},
	{ErrInvalidSwap, "InvalidSwap"},
	{ErrRecordNotFound, "RecordNotFound"},
	{ErrRepoNotFound, "RepoNotFound"},
	{ErrRepoInactive, "RepoInactive"},
	{ErrRateLimited, "RateLimited"},
	{ErrUnauthorized, "Unauthorized"},
	{ErrTooLarge, "TooLarge"},
	{ErrInvalidRecord, "InvalidRecord"},
	{ErrAddressRefused, "AddressRefused"},
	{ErrUnavailable, "Unavailable"},
	{ErrBadData, "BadData"},
	{ErrIncomplete, "Incomplete"},
}

// Kind names the kind of an error of this package, without what a PDS said: "" for
// no error.
func Kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return tracing.Kind(err)
}
