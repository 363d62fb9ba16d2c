package repostore

import (
	"context"
	"errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// question is a getRecord of a GET. It may be asked while the view is read, for
// the record that the object had when it was last looked at: both reads lie
// within the request, so where the CIDs agree the view is as new as the request
// (I7), whichever came first. The two take about as long as one then.
type question struct {
	asked bool
	uri   recordURI
	cid   string
	err   error
}

// lookAndAsk reads the view, and asks for the record that the object had when it
// was last looked at. The question goes out first: the PDS takes longer to answer
// than etcd. It is given up where the view turns out to be of no such record.
func (s *Store) lookAndAsk(ctx context.Context, ref objectRef) (sn snapshot, q question, err error) {
	m, uri := s.recordOf(ref)
	if m == nil {
		sn, err = s.look(ctx, ref)
		return sn, q, err
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		if sn, err = s.look(ctx, ref); err != nil || sn.stamp.orphaned() || sn.stamp.URI != uri.String() {
			giveUp()
		}
	}()
	q = question{asked: true, uri: uri}
	q.cid, q.err = cidOf(asking, m, uri)
	<-looked
	return sn, q, err
}

// recordOf is the record that the object had when it was last looked at, and the
// mount that can be asked for it; nil: none.
func (s *Store) recordOf(ref objectRef) (*mount, recordURI) {
	known, ok := s.records.Get(ref.key)
	if !ok {
		return nil, recordURI{}
	}
	uri := known.(recordURI)
	m := s.hub.mountOf(ref.workspace, uri.did)
	if m == nil || m.Access == AccessNone {
		return nil, recordURI{}
	}
	return m, uri
}

// answer is the record's CID now, "" where there is none.
func (q question) answer(ctx context.Context, m *mount, uri recordURI) (string, error) {
	if !q.asked || q.uri != uri {
		return cidOf(ctx, m, uri)
	}
	return q.cid, q.err
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
