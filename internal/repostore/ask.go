package repostore

import (
	"context"
	"errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// question is a getRecord of a GET. It may be asked before the view is read, for
// the record that the object had when it was last looked at: both reads lie
// within the request, so where the CIDs agree the view is as new as the request
// (I7), whichever came first. The two take about as long as one then.
type question struct {
	uri  recordURI
	done chan struct{} // closed when cid and err are set; nil: nothing was asked
	cid  string
	err  error
}

// askAhead asks for the record that ref had when it was last looked at. The
// question ends with ctx, or with the call's own timeout.
func (s *Store) askAhead(ctx context.Context, ref objectRef) *question {
	known, ok := s.records.Get(ref.key)
	if !ok {
		return &question{}
	}
	uri := known.(recordURI)
	m := s.hub.mountOf(ref.workspace, uri.did)
	if m == nil || m.Access == AccessNone {
		return &question{}
	}
	q := &question{uri: uri, done: make(chan struct{})}
	go func() {
		defer close(q.done)
		q.cid, q.err = cidOf(ctx, m, uri)
	}()
	return q
}

// answer is the record's CID now, "" where there is none.
func (q *question) answer(ctx context.Context, m *mount, uri recordURI) (string, error) {
	if q.done == nil || q.uri != uri {
		return cidOf(ctx, m, uri)
	}
	select {
	case <-q.done:
		return q.cid, q.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func cidOf(ctx context.Context, m *mount, uri recordURI) (string, error) {
	rec, err := m.Repo.GetRecord(ctx, uri.Key)
	if errors.Is(err, atproto.ErrRecordNotFound) {
		m.answered("", nil)
		return "", nil
	}
	m.answered("", err)
	if err != nil {
		return "", err
	}
	return rec.CID, nil
}

// recordsKnown is how many objects' records are remembered: names come and go, and
// a question that is not asked ahead costs a moment.
const recordsKnown = 16384

// remember keeps which record an object has, for the next question.
func (s *Store) remember(ref objectRef, sn snapshot) {
	if uri, ok := parseURI(sn.stamp.URI); ok && sn.there() && !sn.stamp.orphaned() {
		s.records.Add(ref.key, uri)
	} else {
		s.records.Remove(ref.key)
	}
}
