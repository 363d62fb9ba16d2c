package testpds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/repo"
	lexutil "github.com/bluesky-social/indigo/lex/util"
	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"
)

// stream is a firehose connection.
type stream struct {
	t    *testing.T
	p    *peer
	conn *websocket.Conn
	// last is the seq of the last event read; rev the last commit's, by DID.
	last int64
	rev  map[string]string
}

// subscribe opens the firehose; query is "" or "?cursor=…".
func (p *peer) subscribe(query string) *stream {
	p.t.Helper()
	target := "ws" + strings.TrimPrefix(p.server.URL, "http") + "/xrpc/com.atproto.sync.subscribeRepos" + query
	conn, resp, err := websocket.DefaultDialer.DialContext(p.t.Context(), target, nil)
	if err != nil {
		p.t.Fatalf("subscribeRepos: %v", err)
	}
	_ = resp.Body.Close()
	p.t.Cleanup(func() { _ = conn.Close() })
	return &stream{t: p.t, p: p, conn: conn, rev: map[string]string{}}
}

// next reads one message and describes it so that two PDSes that behave alike
// give the same text. Commits are verified. The end of the connection is its
// close code and text.
func (s *stream) next() string {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	_, data, err := s.conn.ReadMessage()
	if err != nil {
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return fmt.Sprintf("closed %d %s", closed.Code, closed.Text)
		}
		s.t.Fatalf("firehose: %v", err)
	}
	r := bytes.NewReader(data)
	var header struct {
		Op int    `cbor:"op"`
		T  string `cbor:"t"`
	}
	dec := cbor.NewDecoder(r)
	if err := dec.Decode(&header); err != nil {
		s.t.Fatalf("frame header: %v", err)
	}
	return s.describe(header.Op, header.T, data[dec.NumBytesRead():])
}

func (s *stream) describe(op int, kind string, body []byte) string {
	s.t.Helper()
	if op == -1 {
		var e struct {
			Error   string `cbor:"error"`
			Message string `cbor:"message"`
		}
		if err := cbor.Unmarshal(body, &e); err != nil {
			s.t.Fatalf("error frame: %v", err)
		}
		return "error " + e.Error + ": " + e.Message
	}
	r := bytes.NewReader(body)
	switch kind {
	case "#commit":
		var m comatproto.SyncSubscribeRepos_Commit
		s.decode(m.UnmarshalCBOR(r))
		s.order(m.Seq)
		return s.commit(&m)
	case "#identity":
		var m comatproto.SyncSubscribeRepos_Identity
		s.decode(m.UnmarshalCBOR(r))
		s.order(m.Seq)
		return fmt.Sprintf("#identity %s %s", s.p.mask(m.Did), *m.Handle)
	case "#account":
		var m comatproto.SyncSubscribeRepos_Account
		s.decode(m.UnmarshalCBOR(r))
		s.order(m.Seq)
		status := ""
		if m.Status != nil {
			status = *m.Status
		}
		return fmt.Sprintf("#account %s active=%t %s", s.p.mask(m.Did), m.Active, status)
	case "#sync":
		var m comatproto.SyncSubscribeRepos_Sync
		s.decode(m.UnmarshalCBOR(r))
		s.order(m.Seq)
		c, _, err := repo.LoadCommitFromCAR(context.Background(), bytes.NewReader(m.Blocks))
		s.decode(err)
		return fmt.Sprintf("#sync %s rev of the commit: %t, of the last event: %t", s.p.mask(m.Did), c.Rev == m.Rev, s.rev[m.Did] == m.Rev)
	case "#info":
		var m comatproto.SyncSubscribeRepos_Info
		s.decode(m.UnmarshalCBOR(r))
		return "#info " + m.Name + ": " + *m.Message
	}
	return "unknown " + kind
}

// commit verifies and describes a commit.
func (s *stream) commit(m *comatproto.SyncSubscribeRepos_Commit) string {
	s.t.Helper()
	if len(m.Ops) > 0 { // an empty commit of the reference lacks the MST's root
		if _, err := repo.VerifyCommitMessage(context.Background(), m); err != nil {
			s.t.Errorf("commit of %s: %v", s.p.server.URL, err)
		}
	}
	prev := s.rev[m.Repo]
	s.rev[m.Repo] = m.Rev
	var b strings.Builder
	fmt.Fprintf(&b, "#commit %s follows: %t, since: %t, prevData %s, rebase %t, tooBig %t, blobs %d",
		s.p.mask(m.Repo), prev == "" || m.Since != nil && *m.Since == prev, m.Since != nil, linkText(m.PrevData), m.Rebase, m.TooBig, len(m.Blobs))
	for _, o := range m.Ops {
		fmt.Fprintf(&b, "; %s %s cid %s prev %s", o.Action, s.p.mask(o.Path), linkText(o.Cid), linkText(o.Prev))
	}
	return b.String()
}

func linkText(l *lexutil.LexLink) string {
	if l == nil {
		return "none"
	}
	return l.String()
}

func (s *stream) decode(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("firehose body: %v", err)
	}
}

// order wants rising seqs.
func (s *stream) order(seq int64) {
	s.t.Helper()
	if seq <= s.last {
		s.t.Errorf("seq %d after %d", seq, s.last)
	}
	s.last = seq
}
