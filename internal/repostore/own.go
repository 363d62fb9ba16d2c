package repostore

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"
)

// errStopping: the hub has ended, and so has what it runs.
var errStopping = errors.New("the server is stopping")

// spawn runs f, which a request has begun and others share, on a goroutine of the
// hub's: Run doesn't return before it has ended.
func (h *Hub) spawn(f func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Under the lock, as Run's last act before it waits takes it too.
	if h.base != nil && h.base.Err() != nil {
		return errStopping
	}
	h.wg.Go(f)
	return nil
}

// runContext is the context of such work: it ends with the hub and has the hub's
// values, the workspace, and of the request that caused it the trace alone.
func (h *Hub) runContext(caller context.Context, ws string) context.Context {
	if h.keepContext != nil {
		return h.keepContext(caller)
	}
	h.mu.RLock()
	ctx := h.base
	h.mu.RUnlock()
	if ctx == nil {
		ctx = context.Background()
	}
	return trace.ContextWithSpan(WithWorkspace(ctx, ws), trace.SpanFromContext(caller))
}
