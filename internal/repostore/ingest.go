package repostore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// ingestOptions say why a record is ingested.
type ingestOptions struct {
	// reach is the rev that the view has to reach: it is done without asking the
	// PDS when the view has come so far (an own write that comes back).
	reach string
	// told, where set, is what an event says that the record was at reach.
	told *told
	// wait waits for a write in flight instead of failing with ErrBusy.
	wait bool
	// object, where set, is the object whose open intent is to be settled.
	object *objectRef
	// lost, where set, is the write that an edit made elsewhere won against.
	lost *lostWrite
}

// errInFlight: a write of this record is in flight and the view shows what the
// record still is.
var errInFlight = errors.New("nothing to ingest yet")

// ingest brings the view of one record up to the record. It is idempotent and
// may run on any replica at any time. The order is the heart of it: fence, view
// and intent are read first, the record after (I4, I5), unless an event told it and
// that is as good (told.go).
func (s *Store) ingest(ctx context.Context, m *mount, key atproto.Key, o ingestOptions) (err error) {
	ctx, span := m.recordSpan(ctx, "ingest", key)
	defer func() { span.End(kindOf(err)) }()
	uri := recordURI{m.Repo.DID(), key}
	var proved *proof
	for i, moved := 0, 0; moved < attempts; i++ {
		err := s.ingestOnce(ctx, m, uri, o, &proved)
		switch {
		case err == nil, errors.Is(err, errInFlight):
			return nil
		case errors.Is(err, errMoved):
			moved++
		case errors.Is(err, ErrBusy) && o.wait: // ends with ctx, or with the intent's term
		default:
			return err
		}
		s.hub.step("ingest.retry")
		if err := s.pause(ctx, min(i, 10)); err != nil {
			return err
		}
	}
	return fmt.Errorf("ingest of %s: something changed at each of %d tries: %w", uri, attempts, ErrBusy)
}

func (s *Store) ingestOnce(ctx context.Context, m *mount, uri recordURI, o ingestOptions, proved **proof) error {
	if m.Access == AccessNone {
		return s.settleUnasked(ctx, m, uri, o)
	}
	s.hub.step("ingest.before-look")
	ref, sn, err := s.lookRecord(ctx, m.Workspace, uri, o.object)
	if err != nil {
		return err
	}
	settling := sn.intent != nil && sn.intent.URI == uri.String()
	if sn.there() && sn.stamp.URI != uri.String() && !settling {
		return s.ingestElsewhere(ctx, m, uri, ref, sn)
	}
	if o.reach != "" && sn.there() && sn.stamp.Rev >= o.reach {
		return nil
	}
	s.hub.step("ingest.before-record")
	if rec := sn.believe(m, uri, o); rec != nil {
		s.hub.step("ingest.before-write")
		return s.bringUp(ctx, m, ref, uri, sn, rec, o.reach, o)
	}
	if p := *proved; p.holds(sn) {
		sn.head = p.before.head
		s.hub.step("ingest.before-write")
		return s.bringUp(ctx, m, ref, uri, sn, p.rec, p.rev, o)
	}
	rec, commit, err := m.Repo.ProveRecord(ctx, uri.Key)
	m.answered(commit.Rev, err)
	if err != nil {
		return fmt.Errorf("read %s: %w", uri, err)
	}
	*proved = &proof{sn, rec, commit.Rev}
	if sn.there() && commit.Rev < sn.stamp.Rev { // the view was read before the record was asked for
		err := fmt.Errorf("%s at rev %s, seen at rev %s: %w", uri, commit.Rev, sn.stamp.Rev, ErrWentBack)
		m.answered("", err)
		return err
	}
	if settling {
		s.hub.step("ingest.before-settle")
		return s.settle(ctx, m, ref, uri, sn, rec, commit.Rev, o)
	}
	if sn.there() && sn.stamp.Rev >= commit.Rev {
		return nil
	}
	s.hub.step("ingest.before-write")
	return s.bringUp(ctx, m, ref, uri, sn, rec, commit.Rev, o)
}

// ingestElsewhere handles a record whose name belongs to an object that has
// another record, or none.
func (s *Store) ingestElsewhere(ctx context.Context, m *mount, uri recordURI, ref objectRef, sn snapshot) error {
	if sn.identity != nil {
		return errMoved // bound by another name since the first look
	}
	rec, commit, err := m.Repo.ProveRecord(ctx, uri.Key)
	m.answered(commit.Rev, err)
	if err != nil {
		return fmt.Errorf("read %s: %w", uri, err)
	}
	if rec == nil {
		m.undefer(uri.Key, uri.String())
		return s.forgetDetached(ctx, m.Workspace, uri)
	}
	detached, err := s.isDetached(ctx, m.Workspace, uri)
	if err != nil {
		return err
	}
	if !detached && m.appear(uri.Collection) {
		m.conflict(uri.Key, uri.String(), ref.name)
	}
	return nil
}

// bringUp makes the view what the record is. No intent is open.
func (s *Store) bringUp(ctx context.Context, m *mount, ref objectRef, uri recordURI, sn snapshot, rec *atproto.Record, rev string, o ingestOptions) error {
	g := sn.guardFor(uri)
	switch {
	case rec == nil && !sn.there():
		if err := s.stillAbsent(ctx, ref, uri, sn, rev, o); err != nil {
			return err
		}
		m.undefer(uri.Key, uri.String())
		return s.forgetDetached(ctx, ref.workspace, uri)
	case rec == nil && sn.stamp.orphaned():
		m.undefer(uri.Key, uri.String())
		return nil
	case rec == nil:
		return s.deletedElsewhere(ctx, ref, sn, rev, g)
	case !sn.there():
		g.makes = s.creation(ref.workspace, uri, sn, rev)
		return s.appeared(ctx, m, ref, uri, sn, rec, rev, g)
	case sn.stamp.orphaned():
		m.deferKey(uri.Key) // re-created elsewhere: served once the old object is gone
		return nil
	case sn.stamp.CID == rec.CID:
		return s.sameAgain(ctx, ref, uri, sn, rev, o)
	}
	if found, err := s.applyDropped(ctx, ref, sn, rec.CID, rev, g); found || err != nil {
		return err
	}
	return s.editedElsewhere(ctx, ref, sn, rec, rev, g, o)
}

// sameAgain: the record is what the view shows, at a later rev. If it changed
// between, an ingest that read the state between, or was told it, is stopped by
// the horizon.
func (s *Store) sameAgain(ctx context.Context, ref objectRef, uri recordURI, sn snapshot, rev string, o ingestOptions) error {
	if o.reach <= max(sn.stamp.Rev, sn.horizon) {
		return nil
	}
	return s.raiseOver(ctx, ref, uri.did, sn, rev)
}

// stillAbsent: a record came and went, and no object shows it. An ingest that read
// it between is stopped by the horizon, unless a deletion's fence has done that.
func (s *Store) stillAbsent(ctx context.Context, ref objectRef, uri recordURI, sn snapshot, rev string, o ingestOptions) error {
	if o.reach <= max(sn.deleted, sn.horizon) {
		return nil
	}
	return s.raiseOver(ctx, ref, uri.did, sn, rev)
}

// deletedElsewhere: without finalizers the object goes; with them it terminates,
// its record gone and its declaration frozen.
func (s *Store) deletedElsewhere(ctx context.Context, ref objectRef, sn snapshot, rev string, g guard) error {
	accessor, err := meta.Accessor(sn.obj)
	if err != nil {
		return err
	}
	if len(accessor.GetFinalizers()) == 0 {
		return s.deleteView(ctx, ref, sn.view, rev, g, nil)
	}
	if accessor.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.hub.clock.Now())
		accessor.SetDeletionTimestamp(&now)
		var grace int64
		accessor.SetDeletionGracePeriodSeconds(&grace)
		s.bumpGeneration(accessor)
	}
	st := sn.stamp.by("")
	st.CID, st.Rev = "", rev
	if err := s.setRecordStatus(sn.obj, st, Pulled); err != nil {
		return err
	}
	return s.putView(ctx, ref, sn.view, sn.obj, st, g, nil)
}

// editedElsewhere: the record's declaration becomes the object's; all else of the
// object stays.
func (s *Store) editedElsewhere(ctx context.Context, ref objectRef, sn snapshot, rec *atproto.Record, rev string, g guard, o ingestOptions) error {
	obj, st, err := s.edited(sn, rec, rev, o)
	if err != nil {
		return err
	}
	return s.putView(ctx, ref, sn.view, obj, st, g, nil)
}

// edited is sn's object as the record at rev declares it.
func (s *Store) edited(sn snapshot, rec *atproto.Record, rev string, o ingestOptions) (runtime.Object, stamp, error) {
	before, err := s.declarationOf(sn.obj)
	if err != nil {
		return nil, stamp{}, err
	}
	obj, st := sn.obj.DeepCopyObject(), sn.stamp.by("")
	if err := s.pull(obj, &st, rec, rev); err != nil {
		return nil, stamp{}, err
	}
	if sn.stamp.Invalid != "" && st.Invalid == "" {
		sight := s.sight(rec.Value, nil)
		sight.Late = true
		s.mapper.FirstSight(obj, sight)
	}
	after, err := s.declarationOf(obj)
	if err != nil {
		return nil, stamp{}, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, stamp{}, err
	}
	changed := !bytes.Equal(before, after)
	if changed {
		s.bumpGeneration(accessor)
	}
	if o.lost != nil && changed {
		s.setCondition(obj, conflictCondition(o.lost, rec.CID))
	}
	err = s.countOverwrite(sn, obj, changed, &st)
	return obj, st, err
}

// forgetDetached ends the memory of a detached record that is gone.
func (s *Store) forgetDetached(ctx context.Context, ws string, uri recordURI) error {
	detached, err := s.isDetached(ctx, ws, uri)
	if err != nil || !detached {
		return err
	}
	_, err = s.txn(ctx, "attach", nil, []clientv3.Op{s.attachOp(ws, uri)})
	return err
}
