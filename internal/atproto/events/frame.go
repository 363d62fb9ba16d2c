package events

import (
	"bytes"
	"errors"
	"fmt"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/fxamacker/cbor/v2"
)

// frameHeader is the first of a frame's two CBOR objects
// (https://atproto.com/specs/event-stream).
type frameHeader struct {
	Op int64  `cbor:"op"`
	T  string `cbor:"t"`
}

const (
	opMessage = 1
	opError   = -1
)

// streamError is an error frame; the stream ends with it.
type streamError struct {
	Name    string `cbor:"error"`
	Message string `cbor:"message"`
}

// Error implements error.
func (e *streamError) Error() string { return fmt.Sprintf("stream error %s: %s", e.Name, e.Message) }

var errBadFrame = errors.New("frame can't be decoded")

// message is a decoded frame of subscribeRepos. One field is set, or none where
// the message is of a type that we don't know or need.
type message struct {
	seq     int64
	commit  *comatproto.SyncSubscribeRepos_Commit
	sync    *comatproto.SyncSubscribeRepos_Sync
	account *comatproto.SyncSubscribeRepos_Account
	info    *comatproto.SyncSubscribeRepos_Info
}

// decodeFrame reads a frame. An error frame is returned as a *streamError.
func decodeFrame(b []byte) (*message, error) {
	var h frameHeader
	body, err := cbor.UnmarshalFirst(b, &h)
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", errBadFrame, err)
	}
	switch h.Op {
	case opError:
		e := &streamError{}
		if err := cbor.Unmarshal(body, e); err != nil {
			return nil, fmt.Errorf("%w: error frame: %w", errBadFrame, err)
		}
		return nil, e
	case opMessage:
	default:
		return &message{}, nil
	}
	m := &message{}
	r := bytes.NewReader(body)
	switch h.T {
	case "#commit":
		m.commit = &comatproto.SyncSubscribeRepos_Commit{}
		err = m.commit.UnmarshalCBOR(r)
		m.seq = m.commit.Seq
	case "#sync":
		m.sync = &comatproto.SyncSubscribeRepos_Sync{}
		err = m.sync.UnmarshalCBOR(r)
		m.seq = m.sync.Seq
	case "#account":
		m.account = &comatproto.SyncSubscribeRepos_Account{}
		err = m.account.UnmarshalCBOR(r)
		m.seq = m.account.Seq
	case "#info":
		m.info = &comatproto.SyncSubscribeRepos_Info{}
		err = m.info.UnmarshalCBOR(r)
	default:
		// #identity and whatever is new: only its place in the stream counts.
		var other struct {
			Seq int64 `cbor:"seq"`
		}
		err = cbor.Unmarshal(body, &other)
		m.seq = other.Seq
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errBadFrame, h.T, err)
	}
	return m, nil
}
