package repostore

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// settle decides an open intent by the record as it is after the intent was read
// (I4). A live intent is not overtaken: its owner knows best. It returns errMoved
// when it changed something and the ingest has to look again.
//
//	record is the target      roll forward; a live create waits for its owner, for
//	                          these bytes may be somebody else's record
//	record is the base, live  nothing to ingest, unless an event says otherwise or
//	                          the view was lost
//	else, live                wait
//	expired                   roll forward if the owner left word of its commit, or the
//	                          stream shows the target in this object's time, else drop
func (s *Store) settle(ctx context.Context, m *mount, ref objectRef, uri recordURI, sn snapshot, rec *atproto.Record, rev string, o ingestOptions) error {
	it := sn.intent
	cid := ""
	if rec != nil {
		cid = rec.CID
	}
	live := !s.hub.expiry.expired(s.keys.intent(ref), it, s.hub.clock.Now())
	isTarget := cid == it.Target
	switch {
	case live && isTarget && it.Op == opCreate:
		return ErrBusy
	case live && !isTarget && cid == it.Base && sn.revision == it.BaseRevision && o.reach <= sn.stamp.Rev:
		return errInFlight
	case live && !isTarget:
		return ErrBusy
	}
	// A delete whose record is absent has reached its target; a create whose record
	// is absent has not, or was deleted since: there is nothing to serve. A view that
	// is not the one that the intent was taken on was lost meanwhile.
	at, shown := m.progress.evidence(uri.Key, it.Target, sn.shownSince())
	if it.Committed != "" {
		at, shown = it.Committed, true
	}
	if sn.revision != it.BaseRevision || !isTarget && (!shown || it.Op == opDelete || rec == nil && (it.Op == opCreate || at < sn.horizon)) {
		metrics.IntentSettled(false)
		if _, err := s.dropIntent(ctx, ref, it, false); err != nil {
			return err
		}
		return errMoved
	}
	under := !isTarget && at < sn.horizon
	if !isTarget && !under {
		rev = at
	}
	s.hub.step("settle.before-write")
	err := s.rollForward(ctx, ref, sn, it, rec, rev, under, guard{intent: it, did: uri.did, horizon: sn.horizonRevision})
	if err != nil {
		return err
	}
	metrics.IntentSettled(true)
	return errMoved
}

// settleUnasked is all that is ingested of a repository whose access is None: it
// must not be asked what became of an intent, so the intent ends with its term. If
// access is granted again, its put is recognized by the tombstone.
func (s *Store) settleUnasked(ctx context.Context, m *mount, uri recordURI, o ingestOptions) error {
	ref, sn, err := s.lookRecord(ctx, m.Workspace, uri, o.object)
	if err != nil || sn.intent == nil || sn.intent.URI != uri.String() {
		return err
	}
	if !s.hub.expiry.expired(s.keys.intent(ref), sn.intent, s.hub.clock.Now()) {
		return ErrBusy
	}
	_, err = s.dropIntent(ctx, ref, sn.intent, false)
	return err
}

// shownSince is the rev after which the record's history is this object's: what
// the stream showed before belongs to an object that had the record earlier.
func (sn snapshot) shownSince() rev {
	if sn.there() {
		return sn.stamp.Rev
	}
	return sn.deleted
}

// rollForward applies the intent: at rev, at which the record was its target, or
// under the record as it is at rev.
func (s *Store) rollForward(ctx context.Context, ref objectRef, sn snapshot, it *intent, rec *atproto.Record, rev string, under bool, g guard) error {
	if !under {
		return s.applyIntent(ctx, ref, sn.view, it, rev, g)
	}
	meant, err := s.intended(ctx, ref, it)
	if err != nil {
		return err
	}
	return s.applyUnder(ctx, ref, sn.view, it, meant, rec, rev, g, nil)
}

// applyIntent makes the view what the intent's write meant, at the rev at which
// the record was its target.
func (s *Store) applyIntent(ctx context.Context, ref objectRef, v view, it *intent, rev string, g guard) error {
	if it.Op == opDelete {
		return s.deleteView(ctx, ref, v, rev, g, nil)
	}
	obj, err := s.intended(ctx, ref, it)
	if err != nil {
		return err
	}
	return s.finalize(ctx, ref, v, it, obj, rev, g, nil)
}

// intended is the object that the intent's write meant.
func (s *Store) intended(ctx context.Context, ref objectRef, it *intent) (runtime.Object, error) {
	data, _, err := s.transformer.TransformFromStorage(ctx, it.Object, authenticatedKey(s.keys.intent(ref)))
	if err != nil {
		return nil, storage.NewInternalError(err)
	}
	return runtime.Decode(s.codec, data)
}
