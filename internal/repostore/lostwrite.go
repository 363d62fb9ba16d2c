package repostore

import (
	"bytes"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
)

// lostWrite is a write that an edit made elsewhere won against. The ingest that
// brings the edit in says so in condition SyncConflict.
type lostWrite struct {
	// base is the resourceVersion that it was decided on.
	base string
}

// tellLost says so where another ingest has brought the edit in, between the end of
// the write's intent and its own ingest, and knew nothing of the write. It is nothing
// to be told once a write of the API has changed the record since, which would have
// cleared the condition, or where the edit was no change of the declaration.
func (s *Store) tellLost(ctx context.Context, w publicWrite, lost *lostWrite) error {
	before, err := s.declarationOf(w.base.obj)
	if err != nil {
		return err
	}
	for range attempts {
		sn, err := s.look(ctx, w.ref)
		if err != nil {
			return err
		}
		st := sn.stamp
		if !sn.there() || st.URI != w.uri.String() || st.orphaned() || st.Nonce != "" || sn.intent != nil {
			return nil
		}
		c := conflictCondition(lost, st.CID)
		conditions := s.mapper.Conditions(sn.obj)
		if conditions == nil {
			return nil
		}
		if now := meta.FindStatusCondition(*conditions, c.Type); now != nil && now.Message == c.Message {
			return nil // its own ingest did
		}
		after, err := s.declarationOf(sn.obj)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		obj := sn.obj.DeepCopyObject()
		s.setCondition(obj, c)
		s.hub.step("lost.before-view")
		err = s.putView(ctx, w.ref, sn.view, obj, st, guard{}, nil)
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return nil // the object is written all the time: what it was told is old by now
}
