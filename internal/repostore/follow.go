package repostore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"
)

// follow binds obj to a record that exists, over v: nothing, or a private object.
// The record's declaration replaces obj's.
func (s *Store) follow(ctx context.Context, ref objectRef, v view, m *mount, uri recordURI, obj, out runtime.Object) (outcome, error) {
	_, sn, err := s.lookRecord(ctx, ref.workspace, uri, &ref)
	if err != nil {
		return finished, err
	}
	if sn.identity != nil {
		return finished, servedAlready(uri, sn.identity)
	}
	rec, commit, err := m.Repo.ProveRecord(ctx, uri.Key)
	m.answered(commit.Rev, err)
	if err != nil {
		return finished, err
	}
	if rec == nil {
		return finished, fmt.Errorf("%w: %s; create it first, or leave spec.record.uri out to publish one", ErrNoSuchRecord, uri)
	}
	before, err := s.declarationOf(obj)
	if err != nil {
		return finished, err
	}
	st := stamp{URI: uri.String()}
	if err := s.pull(obj, &st, rec, commit.Rev); err != nil {
		return finished, err
	}
	if !v.there() && st.Invalid == "" {
		s.mapper.FirstSight(obj, s.sight(rec.Value, nil))
	}
	g := sn.guardFor(uri)
	g.binds = m
	err = s.putView(ctx, ref, v, obj, st, g, out)
	switch {
	case errors.Is(err, errMoved):
		return again, nil
	case err == nil:
		s.warnReplaced(ctx, before, obj, uri)
	}
	return finished, unanswered(err)
}

// warnReplaced tells a client that what it declared gave way to what the record
// that it follows declares.
func (s *Store) warnReplaced(ctx context.Context, declared []byte, obj runtime.Object, uri recordURI) {
	empty, err := s.declarationOf(s.mapper.New())
	if err != nil || bytes.Equal(declared, empty) {
		return
	}
	if now, err := s.declarationOf(obj); err == nil && !bytes.Equal(declared, now) {
		warning.AddWarning(ctx, "", fmt.Sprintf("spec.record.uri follows %s: its declaration replaced the one that was given", uri))
	}
}
