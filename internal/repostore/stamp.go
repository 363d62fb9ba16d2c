package repostore

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/storage/value"
)

// stamp is what a view says about its record. It lies in front of the object in
// the etcd value, so that it works for any type and one transaction writes both.
type stamp struct {
	// URI of the record; "" for an object that has none.
	URI string `json:"uri,omitempty"`
	// CID that the view reflects; "" with a URI: the record is gone (I6 still
	// holds by Rev), the view lives on for its finalizers.
	CID string `json:"cid,omitempty"`
	// Rev at which the record was that, and later ones at which it was seen again.
	Rev string `json:"rev,omitempty"`
	// Nonce of the intent that made this view (I3).
	Nonce string `json:"nonce,omitempty"`
	// Earlier are the nonces before it: a writer whose intent others rolled forward
	// finds itself here when the view has moved on since.
	Earlier []string `json:"earlier,omitempty"`
	// Remainder is what the record holds beyond the object (RecordMapper.Decode).
	Remainder json.RawMessage `json:"remainder,omitempty"`
	// Status is the digest of the observed status that the record holds.
	Status string `json:"status,omitempty"`
	// Invalid says why the record of CID is not served; the object keeps its last
	// valid declaration then.
	Invalid string `json:"invalid,omitempty"`
	// Published is the digest of the status that we last put, Overwritten how
	// often somebody replaced it since; see publisher.go.
	Published   string `json:"published,omitempty"`
	Overwritten int    `json:"overwritten,omitempty"`
}

// bound tells whether the view has a record to ask the PDS for.
func (s stamp) bound() bool { return s.URI != "" }

// orphaned tells that the record was deleted elsewhere while finalizers hold the
// object.
func (s stamp) orphaned() bool { return s.URI != "" && s.CID == "" }

// earlierNonces is how many views later a writer still finds itself. It looks
// within milliseconds; what it can't find it must call overtaken.
const earlierNonces = 8

// by is the stamp of the next view, made by the write of nonce; "": by an edit
// made elsewhere.
func (s stamp) by(nonce string) stamp {
	if s.Nonce != "" {
		earlier := append([]string{s.Nonce}, s.Earlier...)
		s.Earlier = earlier[:min(len(earlier), earlierNonces)]
	}
	s.Nonce = nonce
	return s
}

// made tells whether the write of nonce made this view or one before it.
func (s stamp) made(nonce string) bool {
	return s.Nonce == nonce || slices.Contains(s.Earlier, nonce)
}

var errNoStamp = errors.New("the stored value has no stamp")

// magic begins every stored value: a value of another version or another program
// is told apart from a damaged one.
const magic = "rs1\x00"

func sealStamp(st stamp, object []byte) ([]byte, error) {
	head, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode stamp: %w", err)
	}
	out := make([]byte, 0, len(magic)+binary.MaxVarintLen32+len(head)+len(object))
	out = append(out, magic...)
	out = binary.AppendUvarint(out, uint64(len(head)))
	out = append(out, head...)
	return append(out, object...), nil
}

func openStamp(data []byte) (st stamp, object []byte, err error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return stamp{}, nil, errNoStamp
	}
	rest := data[len(magic):]
	n, used := binary.Uvarint(rest)
	if used <= 0 || n > uint64(len(rest)-used) {
		return stamp{}, nil, errNoStamp
	}
	rest = rest[used:]
	if err := json.Unmarshal(rest[:n], &st); err != nil {
		return stamp{}, nil, fmt.Errorf("decode stamp: %w", err)
	}
	return st, rest[n:], nil
}

// stampStripper is the transformer of the stock store: it reads what our
// transactions write. The stock store itself never writes a view.
type stampStripper struct{ inner value.Transformer }

func (t stampStripper) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	_, object, err := openStamp(data)
	if err != nil {
		return nil, false, err
	}
	return t.inner.TransformFromStorage(ctx, object, dataCtx)
}

func (t stampStripper) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	object, err := t.inner.TransformToStorage(ctx, data, dataCtx)
	if err != nil {
		return nil, err
	}
	return sealStamp(stamp{}, object)
}
