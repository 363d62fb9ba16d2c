package repostore

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// publicWrite is a write that changes a record: it is decided on a view, takes
// the intent, puts, and finalizes.
type publicWrite struct {
	op        operation
	ref       objectRef
	mount     *mount
	uri       recordURI
	base      view           // the view that it was decided on
	obj       runtime.Object // the new object
	direction Direction
}

// outcome of a try of a public write.
type outcome int

const (
	finished outcome = iota // done, or failed for good
	again                   // the race was lost: look at the fresh object
	repair                  // the put stands but its private part was lost: apply it again
)

// try runs one public write. The order keeps I1: intent, put, view.
func (s *Store) try(ctx context.Context, w publicWrite, out runtime.Object) (outcome, error) {
	it, record, err := s.prepare(ctx, w)
	if err != nil {
		return finished, err
	}
	s.hub.step(string(w.op) + ".before-intent")
	var binds *mount
	if w.op == opCreate {
		binds = w.mount
	}
	ok, err := s.takeIntent(ctx, w.ref, it, binds)
	if err != nil {
		return finished, err
	}
	if !ok {
		return again, nil
	}
	// From here on the write is the server's, not the client's: a client that
	// leaves must not leave an unknown outcome behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.hub.putTimeout)
	defer cancel()
	s.hub.step(string(w.op) + ".before-put")
	res, err := s.put(ctx, w, record, it.Base)
	w.mount.answered("", writeReached(err))
	switch {
	case errors.Is(err, atproto.ErrInvalidSwap):
		return s.lostSwap(ctx, w, it, out)
	case errors.Is(err, atproto.ErrUnknownOutcome) && w.direction != InSync:
		s.release(ctx, w.ref, it) // it stays: whoever comes next settles it
		return finished, fmt.Errorf("put %s: %w", w.uri, err)
	case err != nil:
		// Known not to be applied; or a publication, which has no private part that
		// could be lost: were its intent kept, no status could be written until the
		// PDS is back.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.hub.putTimeout)
		defer cancel()
		if done, held, derr := s.giveUp(ctx, w, it, out); !held || derr != nil {
			return done, derr
		}
		return finished, fmt.Errorf("put %s: %w", w.uri, err)
	}
	if res.CID != it.Target {
		// The PDS stores other bytes than it was sent. Nothing of ours matches what
		// it holds: the ingest takes the record as it is.
		if done, held, err := s.giveUp(ctx, w, it, out); !held || err != nil {
			return done, err
		}
		return again, stood("put", w.uri, s.ingest(ctx, w.mount, w.uri.Key, ingestOptions{wait: true}))
	}
	rev, done, err := s.confirm(ctx, w, it, res, out)
	if done != finished || err != nil || rev == "" {
		return done, err
	}
	s.hub.step(string(w.op) + ".before-view")
	done, err = s.finish(ctx, w, it, rev, out)
	return done, stood("put", w.uri, err)
}

// prepare makes the intent and the record of a public write.
func (s *Store) prepare(ctx context.Context, w publicWrite) (*intent, map[string]any, error) {
	remainder, err := w.base.remainder()
	if err != nil {
		return nil, nil, err
	}
	record, err := s.mapper.Encode(w.obj, remainder)
	if err != nil {
		return nil, nil, err
	}
	target, err := recordcid.Of(record)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", atproto.ErrInvalidRecord, err)
	}
	status, err := statusDigest(record)
	if err != nil {
		return nil, nil, err
	}
	data, err := s.encode(w.obj)
	if err != nil {
		return nil, nil, err
	}
	// As sealed as the view will be: where objects are encrypted, no intent and no
	// tombstone holds one in the clear.
	if data, err = s.transformer.TransformToStorage(ctx, data, authenticatedKey(s.keys.intent(w.ref))); err != nil {
		return nil, nil, storage.NewInternalError(err)
	}
	by := w.base.stamp.by(s.hub.nonce())
	st := stamp{
		URI: w.uri.String(), CID: target, Nonce: by.Nonce, Earlier: by.Earlier, Remainder: w.base.stamp.Remainder,
		Status: status, Published: status, Overwritten: w.base.stamp.Overwritten,
	}
	if status != w.base.stamp.Published {
		st.Overwritten = 0 // another status than the one that was contested
	}
	return &intent{
		Op: w.op, Nonce: st.Nonce, URI: st.URI, Base: w.base.stamp.CID, Target: target,
		BaseRevision: w.base.revision, BaseRev: w.base.stamp.Rev, Object: data, Stamp: st, Direction: w.direction,
	}, record, nil
}

// confirm finds the rev of a put. A put without a commit wrote nothing, and its
// swap was not checked: a create is not ours then, an update counts only while
// the record still is the target.
func (s *Store) confirm(ctx context.Context, w publicWrite, it *intent, res atproto.PutResult, out runtime.Object) (string, outcome, error) {
	if res.Commit != nil {
		return res.Commit.Rev, finished, nil
	}
	if w.op == opCreate {
		done, err := s.lostSwap(ctx, w, it, out)
		return "", done, err
	}
	s.hub.step("update.noop-put")
	rec, commit, err := w.mount.Repo.ProveRecord(ctx, w.uri.Key)
	if err != nil {
		s.release(ctx, w.ref, it)
		return "", finished, fmt.Errorf("put %s: %w: %w", w.uri, atproto.ErrUnknownOutcome, err)
	}
	if rec == nil || rec.CID != it.Target {
		if done, held, err := s.giveUp(ctx, w, it, out); !held || err != nil {
			return "", done, err
		}
		return "", again, nil
	}
	return commit.Rev, finished, nil
}

// giveUp ends an intent whose put wrote nothing. held is false where somebody had
// settled it before: others may have put the very bytes, and then its private part
// stands (done and err say what became of it).
func (s *Store) giveUp(ctx context.Context, w publicWrite, it *intent, out runtime.Object) (done outcome, held bool, err error) {
	held, err = s.dropIntent(ctx, w.ref, it, true)
	if err != nil || held {
		return finished, held, err
	}
	if w.op == opCreate {
		// Its object may be there, and others have made its record.
		return finished, false, fmt.Errorf("%s %q: %w", s.resource.Resource, w.ref.name, ErrOvertaken)
	}
	done, err = s.overtaken(ctx, w, it, out)
	return done, false, err
}

// lostSwap: the record is not what the view said. An ingest brings the view up;
// it may find that this very write had been rolled forward by another.
func (s *Store) lostSwap(ctx context.Context, w publicWrite, it *intent, out runtime.Object) (outcome, error) {
	s.hub.step(string(w.op) + ".lost-swap")
	held, err := s.dropIntent(ctx, w.ref, it, true)
	if err != nil {
		return finished, err
	}
	done, err := s.afterLostSwap(ctx, w, it, held, out)
	if !held { // somebody may have rolled it forward
		err = stood("put", w.uri, err)
	}
	return done, err
}

// afterLostSwap goes on with a write whose intent has ended, by itself or, where it
// wasn't held, by others.
func (s *Store) afterLostSwap(ctx context.Context, w publicWrite, it *intent, held bool, out runtime.Object) (outcome, error) {
	o := ingestOptions{wait: true}
	if w.op == opUpdate && held {
		o.lost = &lostWrite{base: fmt.Sprint(w.base.revision)}
	}
	s.hub.step(string(w.op) + ".dropped")
	if err := s.ingest(ctx, w.mount, w.uri.Key, o); err != nil {
		return finished, err
	}
	if o.lost != nil {
		if err := s.tellLost(ctx, w, o.lost); err != nil {
			return finished, err
		}
	}
	// A create that was rolled forward all the same took somebody else's record for
	// its own: it is not acknowledged.
	if held || w.op != opCreate {
		if ok, err := s.mine(ctx, w.ref, it, out); ok || err != nil {
			return finished, err
		}
	}
	if !held {
		// Rolled forward, for somebody had put the same bytes, and changed since; or
		// given up. It can't be told as a conflict: its private part may stand.
		return finished, fmt.Errorf("%s %q: %w", s.resource.Resource, w.ref.name, ErrOvertaken)
	}
	return again, nil
}

// mine tells whether the view is this write's, or one that was made of it, by the
// nonce (I3), and reads it.
func (s *Store) mine(ctx context.Context, ref objectRef, it *intent, out runtime.Object) (bool, error) {
	sn, err := s.look(ctx, ref)
	if err != nil || !sn.there() || !sn.stamp.made(it.Nonce) {
		return false, err
	}
	return true, s.decodeInto(sn.data, sn.revision, out)
}

// overtaken: the put was committed, but the intent is gone: somebody rolled it
// forward, or gave it up because it was held too long.
func (s *Store) overtaken(ctx context.Context, w publicWrite, it *intent, out runtime.Object) (outcome, error) {
	sn, err := s.look(ctx, w.ref)
	switch {
	case err != nil:
		return finished, stood("put", w.uri, err)
	case sn.there() && sn.stamp.made(it.Nonce):
		return finished, s.decodeInto(sn.data, sn.revision, out)
	case sn.there() && w.op == opUpdate && sameUID(sn.obj, w.obj):
		return repair, nil
	default:
		return finished, fmt.Errorf("%s %q: %w", s.resource.Resource, w.ref.name, ErrOvertaken)
	}
}

// finalize writes the view of a put that is committed, and ends its intent.
func (s *Store) finalize(ctx context.Context, ref objectRef, v view, it *intent, obj runtime.Object, rev string, g guard, out runtime.Object) (err error) {
	ctx, span := s.objectSpan(ctx, "finalize", ref)
	defer func() { span.End(kindOf(err)) }()
	st := it.Stamp
	st.Rev = rev
	if err := s.setRecordStatus(obj, st, it.Direction); err != nil {
		return err
	}
	return s.putView(ctx, ref, v, obj, st, g, out)
}

// setRecordStatus makes status.record say what the stamp says.
func (s *Store) setRecordStatus(obj runtime.Object, st stamp, direction Direction) error {
	declaration, err := s.declarationOf(obj)
	if err != nil {
		return err
	}
	s.mapper.SetRecordStatus(obj, &RecordStatus{
		URI: st.URI, CID: st.CID, Rev: st.Rev, DeclarationHash: digest(declaration),
		Direction: direction, SyncedAt: metav1.NewTime(s.hub.clock.Now().Truncate(1e9)),
	})
	return nil
}

// writeReached is what a write's error says of the PDS: a refusal is an answer.
func writeReached(err error) error {
	if errors.Is(err, atproto.ErrUnavailable) || errors.Is(err, atproto.ErrUnknownOutcome) ||
		errors.Is(err, atproto.ErrUnauthorized) || errors.Is(err, atproto.ErrRepoInactive) {
		return err
	}
	return nil
}
