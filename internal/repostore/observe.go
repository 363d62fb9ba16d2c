package repostore

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/tracing"
)

// span begins the span of a step: below the request's, or as a trace of its own
// where no request caused it.
func (h *Hub) span(ctx context.Context, step string, attributes ...attribute.KeyValue) (context.Context, tracing.Span) {
	return tracing.Start(ctx, h.tracer, "repostore."+step, attributes...)
}

// objectSpan is span for a step that is about one object.
func (s *Store) objectSpan(ctx context.Context, step string, ref objectRef) (context.Context, tracing.Span) {
	return s.hub.span(ctx, step, workspaceAttribute.String(ref.workspace),
		attribute.String("infra.resource", s.resource.Resource), attribute.String("infra.name", ref.name))
}

// recordSpan is span for a step that is about one record.
func (m *mount) recordSpan(ctx context.Context, step string, key atproto.Key) (context.Context, tracing.Span) {
	return m.hub.span(ctx, step, workspaceAttribute.String(m.Workspace), attribute.String("infra.atprotorepo", m.Name),
		attribute.String("atproto.did", m.Repo.DID()), attribute.String("atproto.record", key.Path()))
}

const workspaceAttribute = attribute.Key("infra.workspace")

// kinds are the sentinels of this package by the names that traces give them.
var kinds = []struct {
	err  error
	name string
}{
	{errInFlight, "InFlight"},
	{errMoved, "Moved"},
	{ErrOvertaken, "Overtaken"},
	{ErrContended, "Contended"},
	{ErrRecordWon, "RecordWon"},
	{ErrBusy, "Busy"},
	{ErrNotMounted, "NotMounted"},
	{ErrWentBack, "WentBack"},
	{ErrAccess, "Access"},
	{ErrRecordInvalid, "RecordInvalid"},
	{ErrDeclarationFrozen, "DeclarationFrozen"},
	{ErrNoSuchRepo, "NoSuchRepo"},
	{ErrNoSuchRecord, "NoSuchRecord"},
	{ErrDetachedExists, "DetachedExists"},
	{ErrBinding, "Binding"},
}

// kindOf names the kind of an error for traces, without its text.
func kindOf(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return atproto.Kind(err)
}

// put puts the record of a public write.
func (s *Store) put(ctx context.Context, w publicWrite, record map[string]any, base string) (res atproto.PutResult, err error) {
	ctx, span := w.mount.recordSpan(ctx, "put", w.uri.Key)
	defer func() {
		span.End(kindOf(err))
		s.recordWritten(w.op, err)
	}()
	return w.mount.Repo.PutRecord(ctx, w.uri.Key, record, atproto.Swap{CID: base})
}

// remove deletes a record.
func (s *Store) remove(ctx context.Context, m *mount, uri recordURI, base string) (commit *atproto.Commit, err error) {
	ctx, span := m.recordSpan(ctx, "delete", uri.Key)
	defer func() {
		span.End(kindOf(err))
		s.recordWritten(opDelete, err)
	}()
	return m.Repo.DeleteRecord(ctx, uri.Key, atproto.Swap{CID: base})
}

// recordWritten counts what became of a write of a record.
func (s *Store) recordWritten(op operation, err error) {
	resource := s.resource.Resource
	switch {
	case err == nil:
		metrics.RecordWrite(resource, string(op), metrics.WriteCommitted)
	case errors.Is(err, atproto.ErrInvalidSwap):
		metrics.SwapConflict(resource, string(op))
	case errors.Is(err, atproto.ErrUnknownOutcome):
		metrics.RecordWrite(resource, string(op), metrics.WriteUnknown)
	default:
		metrics.RecordWrite(resource, string(op), metrics.WriteRefused)
	}
}

// observe is the state that metrics tell.
func (h *Hub) observe() metrics.State {
	var st metrics.State
	for _, m := range h.allMounts() {
		if m.Access != AccessNone {
			st.Repositories = append(st.Repositories, m.observe())
		}
	}
	h.mu.RLock()
	for _, ws := range h.expected {
		st.Waiting += len(ws)
	}
	h.mu.RUnlock()
	st.IntentsLive, st.IntentsExpired = int(h.intents.live.Load()), int(h.intents.expired.Load())
	st.Publishing, st.Unpublished, st.OldestUnpublished = h.unpublished.observe(h.clock.Now())
	return st
}

// budgeted is a repository whose PDS's limits are known.
type budgeted interface{ Budget() *atproto.Budget }

func (m *mount) observe() metrics.Repository {
	st, now := m.state(), m.hub.clock.Now()
	r := metrics.Repository{Workspace: m.Workspace, Name: m.Name, Reachable: st.Reachable, Streaming: st.Streaming}
	var since time.Time
	r.LagRevs, since = m.progress.behind()
	if !st.CaughtUp && !st.Since.IsZero() {
		r.LagRevs = max(r.LagRevs, 1)
		if since.IsZero() || st.Since.Before(since) {
			since = st.Since
		}
	}
	if !since.IsZero() {
		r.Lag = max(0, now.Sub(since))
	}
	if b, ok := m.Repo.(budgeted); ok {
		points, known := b.Budget().WritePoints(m.Repo.DID())
		r.WritePoints, r.WritePointsKnown = points.Left, known
	}
	return r
}

// behind is how many commits are in line, and when the first of them came.
func (p *progress) behind() (revs int, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pending {
		if len(c.open) == 0 {
			continue
		}
		if revs++; since.IsZero() || c.came.Before(since) {
			since = c.came
		}
	}
	return revs, since
}
