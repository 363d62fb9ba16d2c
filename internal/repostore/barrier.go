package repostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// barrier makes the views of the request's workspace at least as new as its
// repositories are now (I7). It is skipped without a workspace (internal callers)
// and for the wildcard.
func (h *Hub) barrier(ctx context.Context) (err error) {
	ws, ok := WorkspaceFrom(ctx)
	if !ok || ws == AllWorkspaces {
		return nil
	}
	ctx, span := h.span(ctx, "barrier", workspaceAttribute.String(ws))
	defer func(begin time.Time) {
		metrics.BarrierWait(h.clock.Since(begin), err)
		span.End(kindOf(err))
	}(h.clock.Now())
	if err := h.mountsLoaded(); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, m := range h.mountsIn(ws) {
		g.Go(func() error { return h.staleOr(ctx, m, m.barrier(gctx)) })
	}
	for _, r := range h.expectedIn(ws) {
		g.Go(func() error { return h.barrierExpected(ctx, r) })
	}
	return g.Wait()
}

// staleOr turns the failure of a repository into a warning where its owner
// prefers a stale answer to none.
func (h *Hub) staleOr(ctx context.Context, m *mount, err error) error {
	if err == nil {
		return nil
	}
	if m.StaleReads && ctx.Err() == nil {
		shown := "as it was last seen"
		if rev := m.progress.knownRev(); rev != "" {
			shown = fmt.Sprintf("at rev %q or later", rev)
		}
		warning.AddWarning(ctx, "", fmt.Sprintf("AtprotoRepo %q is unavailable; this answer shows it %s", m.Name, shown))
		return nil
	}
	if none, cerr := m.unused(ctx); cerr == nil && none {
		return nil // no object is its: there is nothing that could be stale
	}
	if errors.Is(err, errStopping) {
		return errStopping // not the PDS's fault, and another replica or the next start answers
	}
	return fmt.Errorf("AtprotoRepo %q (%s at %s): %w; its spec.staleReads Allow, or spec.access None, lets reads go on without it", m.Name, m.Repo.DID(), m.Repo.Host(), err)
}

// unused tells that no object of the workspace has a record of this repository,
// and that none appears by itself.
func (m *mount) unused(ctx context.Context) (bool, error) {
	if m.Default || m.collects() {
		return false, nil
	}
	found, err := m.hub.hasObjects(ctx, m.Workspace, m.Repo.DID())
	return !found, err
}

// barrier brings this repository's views up to its head.
func (m *mount) barrier(ctx context.Context) error {
	if m.Access == AccessNone {
		return nil
	}
	return m.heads.do(ctx, func(ctx context.Context) error {
		head, err := m.latest(ctx)
		if err != nil {
			return err
		}
		return m.reach(ctx, head.Rev, m.hub.eventWait)
	})
}

// latest asks for the head, which is never behind what is ingested already.
func (m *mount) latest(ctx context.Context) (atproto.Commit, error) {
	known := m.progress.knownRev()
	head, err := m.latestHead(ctx)
	if err == nil && head.Rev < known {
		err = fmt.Errorf("rev %s, seen at rev %s: %w", head.Rev, known, ErrWentBack)
	}
	m.answered(head.Rev, err)
	return head, err
}

// catcher is an event source that can fetch at once what the PDS has not
// announced yet.
type catcher interface {
	CatchUp(ctx context.Context, did, rev string) error
}

// reach returns when every change up to rev is in the views. It gives the event
// source a moment, for an idle PDS announces late; then it fetches what is
// missing from the source, where the source can; and if that fails, or takes
// longer than comparing the repository would, it compares.
func (m *mount) reach(ctx context.Context, rev string, moment time.Duration) (err error) {
	by := metrics.CatchUpCurrent
	defer func() {
		if err != nil {
			by = metrics.CatchUpFailed
		}
		metrics.CaughtUp(by)
	}()
	if m.progress.reached(rev) {
		return nil
	}
	by = metrics.CatchUpEvents
	streaming := m.Source != nil && m.Source.Connected()
	if streaming && m.progress.wait(ctx, m.hub.clock, rev, moment) {
		return nil
	}
	by = metrics.CatchUpAsked
	if c, ok := m.Source.(catcher); ok && streaming && m.catchUpFrom(ctx, c, rev) {
		return nil
	}
	by = metrics.CatchUpCompared
	return m.resync(ctx, rev)
}

// How long catching up may take before the repository is compared after all: a
// listing of a small one takes some tens of milliseconds, an export of a big one
// about a second. A stalled source costs as much on each consistent read.
const (
	catchUpSmall = 100 * time.Millisecond
	catchUpBig   = time.Second
)

func (m *mount) catchUpFrom(ctx context.Context, c catcher, rev string) bool {
	patience := catchUpSmall
	if m.big.Load() {
		patience = catchUpBig
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.CatchUp(ctx, m.Repo.DID(), rev) == nil && m.progress.wait(ctx, m.hub.clock, rev, patience)
}

// cacheStorage is what the Cacher reads from: the stock store, whose "current
// resource version" is the barrier's. Its reflector's lists and watches touch no
// PDS, so the cache becomes ready, and stays so, whatever the repositories do.
type cacheStorage struct {
	storage.Interface
	hub *Hub
}

// GetCurrentResourceVersion runs the barrier, then answers etcd's revision.
func (c cacheStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	if err := c.hub.barrier(ctx); err != nil {
		return 0, readError(err)
	}
	return c.Interface.GetCurrentResourceVersion(ctx)
}

// readError maps a failed read: whatever the PDS answered, it is never the
// object's absence.
func readError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if ae := ToAPIError(err, noResource, ""); ae != nil {
		return ae
	}
	return nil
}
