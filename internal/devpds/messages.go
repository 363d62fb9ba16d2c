package devpds

import (
	"bytes"
	"fmt"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/syntax"
	lexutil "github.com/bluesky-social/indigo/lex/util"
	"github.com/ipfs/go-cid"
	cbg "github.com/whyrusleeping/cbor-gen"
)

// message is an event before it has its place: encode gives the frame for a seq
// and a time.
type message func(seq int64, at string) ([]byte, error)

// timeFormat of events: RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// frame of com.atproto.sync.subscribeRepos: header and body, both DAG-CBOR.
func frame(kind string, body cbg.CBORMarshaler) ([]byte, error) {
	var buf bytes.Buffer
	w := cbg.NewCborWriter(&buf)
	if err := writeHeader(w, kind); err != nil {
		return nil, err
	}
	if err := body.MarshalCBOR(w); err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return buf.Bytes(), nil
}

// writeHeader writes {t: kind, op: 1}, or {op: -1} for kind "".
func writeHeader(w *cbg.CborWriter, kind string) error {
	fields := uint64(2)
	if kind == "" {
		fields = 1
	}
	if err := w.WriteMajorTypeHeader(cbg.MajMap, fields); err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	pairs := []string{"t", kind}
	if kind == "" {
		pairs = nil
	}
	for _, s := range append(pairs, "op") {
		if err := writeText(w, s); err != nil {
			return err
		}
	}
	major, n := byte(cbg.MajUnsignedInt), uint64(1)
	if kind == "" {
		major, n = cbg.MajNegativeInt, 0 // -1
	}
	if err := w.WriteMajorTypeHeader(major, n); err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	return nil
}

// writeText writes a CBOR text string.
func writeText(w *cbg.CborWriter, s string) error {
	if err := w.WriteMajorTypeHeader(cbg.MajTextString, uint64(len(s))); err != nil {
		return fmt.Errorf("encode text: %w", err)
	}
	if _, err := w.WriteString(s); err != nil {
		return fmt.Errorf("encode text: %w", err)
	}
	return nil
}

// errorFrame is the last frame of a connection that fails.
func errorFrame(name, text string) ([]byte, error) {
	var buf bytes.Buffer
	w := cbg.NewCborWriter(&buf)
	if err := writeHeader(w, ""); err != nil {
		return nil, err
	}
	if err := w.WriteMajorTypeHeader(cbg.MajMap, 2); err != nil {
		return nil, fmt.Errorf("encode error: %w", err)
	}
	for _, s := range []string{"error", name, "message", text} {
		if err := writeText(w, s); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

// infoFrame is an #info message.
func infoFrame(name, text string) ([]byte, error) {
	return frame("#info", &comatproto.SyncSubscribeRepos_Info{Name: name, Message: &text})
}

// commitMessages are the events of a commit: one #commit.
func (s *Server) commitMessages(prev, next *snapshot, ops []op, blocks []carBlock) ([]message, error) {
	car, err := carFile(next.commit, blocks)
	if err != nil {
		return nil, err
	}
	evt := comatproto.SyncSubscribeRepos_Commit{
		Repo: next.did, Commit: lexutil.LexLink(next.commit), Rev: next.rev,
		Blocks: car, Blobs: []lexutil.LexLink{}, Ops: []*comatproto.SyncSubscribeRepos_RepoOp{},
	}
	if prev.commit.Defined() {
		evt.Since, evt.PrevData = &prev.rev, link(prev.data)
	}
	for _, o := range ops {
		evt.Ops = append(evt.Ops, &comatproto.SyncSubscribeRepos_RepoOp{
			Action: o.action(), Path: o.path, Cid: link(o.value), Prev: link(o.prev),
		})
	}
	return []message{func(seq int64, at string) ([]byte, error) {
		evt.Seq, evt.Time = seq, at
		return frame("#commit", &evt)
	}}, nil
}

// link is a CID as a field, nil for none.
func link(c cid.Cid) *lexutil.LexLink {
	if !c.Defined() {
		return nil
	}
	l := lexutil.LexLink(c)
	return &l
}

// identityMessage is an #identity event.
func identityMessage(a *account) message {
	return func(seq int64, at string) ([]byte, error) {
		return frame("#identity", &comatproto.SyncSubscribeRepos_Identity{Did: a.DID, Handle: &a.Handle, Seq: seq, Time: at})
	}
}

// accountMessage is an #account event.
func accountMessage(did, status string) message {
	return func(seq int64, at string) ([]byte, error) {
		evt := comatproto.SyncSubscribeRepos_Account{Did: did, Active: status == "", Seq: seq, Time: at}
		if status != "" {
			evt.Status = &status
		}
		return frame("#account", &evt)
	}
}

// syncMessage is a #sync event: the commit alone.
func syncMessage(s *snapshot) (message, error) {
	if _, err := syntax.ParseTID(s.rev); err != nil {
		return nil, fmt.Errorf("rev of %s: %w", s.did, err)
	}
	car, err := carFile(s.commit, []carBlock{{s.commit, s.bytes(s.commit)}})
	if err != nil {
		return nil, err
	}
	return func(seq int64, at string) ([]byte, error) {
		return frame("#sync", &comatproto.SyncSubscribeRepos_Sync{Did: s.did, Rev: s.rev, Blocks: car, Seq: seq, Time: at})
	}, nil
}
