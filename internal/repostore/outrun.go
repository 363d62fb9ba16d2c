package repostore

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A put that stands comes into the view at the rev of its commit. If the record was
// changed back since to what the view shows, another replica's comparison may have
// called that view up to date, for it looks at views and records alone: the horizon
// has passed the put then, and the state that it made must not be shown any more
// (I7). So each transaction that finishes a put compares the horizon, and where the
// horizon has passed, the record is asked for: what the put meant comes in as the
// record is now.
//
// The fence needs no compare there: while the intent is open, nobody else makes or
// deletes this view, and no other object gets the record (I2).

// standing is what became of a put that is known to have been committed.
type standing struct {
	cid     string // of the record, as of rev
	rec     *atproto.Record
	rev     string
	horizon int64
}

// stands tells how the put of it, committed at rev, stands now. It is nil where
// somebody else has ended the intent, or the view was lost.
func (s *Store) stands(ctx context.Context, m *mount, ref objectRef, uri recordURI, it *intent, rev string) (*standing, error) {
	_, sn, err := s.lookRecord(ctx, ref.workspace, uri, &ref)
	if err != nil {
		return nil, err
	}
	if sn.intent == nil || sn.intent.modRevision != it.modRevision || sn.revision != it.BaseRevision {
		return nil, nil //nolint:nilnil // documented
	}
	if rev >= sn.horizon {
		return &standing{cid: it.Target, rev: rev, horizon: sn.horizonRevision}, nil
	}
	s.hub.step("outrun.before-record")
	rec, commit, err := m.Repo.ProveRecord(ctx, uri.Key)
	m.answered(commit.Rev, err)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	st := &standing{rec: rec, rev: commit.Rev, horizon: sn.horizonRevision}
	if rec != nil {
		st.cid = rec.CID
	}
	return st, nil
}

// finish finalizes a put that was committed at rev.
func (s *Store) finish(ctx context.Context, w publicWrite, it *intent, rev string, out runtime.Object) (outcome, error) {
	g := guard{intent: it, did: w.uri.did, horizon: it.horizon}
	err := s.finalize(ctx, w.ref, w.base, it, w.obj, rev, g, out)
	for errors.Is(err, errMoved) { // each turn: another comparison came between
		var now *standing
		now, err = s.stands(ctx, w.mount, w.ref, w.uri, it, rev)
		switch {
		case err != nil:
			it.Committed = rev
			s.release(ctx, w.ref, it)
			return finished, err
		case now == nil:
			return s.overtaken(ctx, w, it, out)
		case now.cid == it.Target:
			rev, g.horizon = now.rev, now.horizon
			err = s.finalize(ctx, w.ref, w.base, it, w.obj, rev, g, out)
		case now.rec == nil:
			if done, held, err := s.giveUp(ctx, w, it, out); !held || err != nil {
				return done, err
			}
			return finished, errors.Join(fmt.Errorf("put %s: %w", w.uri, ErrOvertaken), s.ingest(ctx, w.mount, w.uri.Key, ingestOptions{wait: true}))
		default:
			g.horizon = now.horizon
			err = s.applyUnder(ctx, w.ref, w.base, it, w.obj, now.rec, now.rev, g, out)
		}
	}
	return finished, err
}

// applyUnder makes the view what the intent's write meant, under the edit that was
// made elsewhere since: two steps in one, for the state between is not to be shown.
func (s *Store) applyUnder(ctx context.Context, ref objectRef, v view, it *intent, meant runtime.Object, rec *atproto.Record, rev string, g guard, out runtime.Object) error {
	obj, st, err := s.edited(snapshot{view: view{obj: meant, stamp: it.Stamp}}, rec, rev, ingestOptions{})
	if err != nil {
		return err
	}
	return s.putView(ctx, ref, v, obj, st, g, out)
}
