package devpds

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/ipfs/go-cid"
	cbor "github.com/ipfs/go-ipld-cbor"
	"github.com/multiformats/go-multihash"
)

// maxSafeInteger is the greatest integer that the reference PDS can encode.
const maxSafeInteger = 1<<53 - 1

// parseJSON decodes a request body, numbers as json.Number.
func parseJSON(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("parse JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("parse JSON: data after the value")
	}
	return v, nil
}

// decoder turns decoded JSON into the atproto data model
// (https://atproto.com/specs/data-model) as leniently as the reference PDS.
type decoder struct {
	// unencodable is set when there was an integer that a double doesn't hold
	// exactly: the reference takes it in, and fails when it encodes the record.
	unencodable bool
	// blobs are the CIDs of blob references, legacyBlobs of those in the old form.
	blobs, legacyBlobs []string
}

// fromJSON converts a value. An object that is no well-formed $link or $bytes
// stays an object. path is for messages.
func (d *decoder) fromJSON(v any, path string) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return d.integer(v, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = d.fromJSON(e, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if special, ok := linkOrBytes(v); ok {
			return special, nil
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = d.fromJSON(e, path+"."+k); err != nil {
				return nil, err
			}
		}
		d.noteBlob(out)
		return out, nil
	default:
		return v, nil
	}
}

// noteBlob remembers an object that is a reference to a blob.
func (d *decoder) noteBlob(v map[string]any) {
	mimeType, _ := v["mimeType"].(string)
	if mimeType == "" {
		return
	}
	ref, isLink := v["ref"].(atdata.CIDLink)
	size, sized := v["size"].(int64)
	if v["$type"] == "blob" && isLink && sized && size >= 0 && len(v) == 4 {
		d.blobs = append(d.blobs, ref.String())
		return
	}
	if text, ok := v["cid"].(string); ok && len(v) == 2 {
		if _, err := cid.Decode(text); err == nil {
			d.legacyBlobs = append(d.legacyBlobs, text)
		}
	}
}

// integer is a JSON number as JavaScript sees it: 1.0 and 1e3 are integers. A
// fraction is refused.
func (d *decoder) integer(n json.Number, path string) (any, error) {
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) {
		return nil, invalidRequest("Expected one of null, boolean, integer, string, cid, bytes, array or object value type (got %s) at %s", n, path)
	}
	if math.Abs(f) > maxSafeInteger {
		d.unencodable = true
		return int64(0), nil
	}
	return int64(f), nil
}

// linkOrBytes is the value of {"$link": …} and {"$bytes": …}.
func linkOrBytes(v map[string]any) (any, bool) {
	if len(v) != 1 {
		return nil, false
	}
	if s, ok := v["$link"].(string); ok {
		c, err := cid.Decode(s)
		return atdata.CIDLink(c), err == nil
	}
	if s, ok := v["$bytes"].(string); ok {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.StdEncoding} {
			if b, err := enc.DecodeString(s); err == nil {
				return atdata.Bytes(b), true
			}
		}
	}
	return nil, false
}

// encodeRecord is a record's DRISL bytes and their CID.
func encodeRecord(value map[string]any) ([]byte, cid.Cid, error) {
	data, err := atdata.MarshalCBOR(value)
	if err != nil {
		return nil, cid.Undef, fmt.Errorf("encode record: %w", err)
	}
	c, err := hashBlock(data)
	return data, c, err
}

// hashBlock is a block's CID: v1, dag-cbor, sha-256.
func hashBlock(data []byte) (cid.Cid, error) {
	c, err := cid.NewPrefixV1(cid.DagCBOR, multihash.SHA2_256).Sum(data)
	if err != nil {
		return cid.Undef, fmt.Errorf("hash block: %w", err)
	}
	return c, nil
}

// lazyJSON is a record's value as JSON, made once.
type lazyJSON struct {
	once sync.Once
	data json.RawMessage
	err  error
}

// value of the record whose block is data.
func (l *lazyJSON) value(data []byte) (json.RawMessage, error) {
	l.once.Do(func() {
		var raw map[string]any
		if l.err = cbor.DecodeInto(data, &raw); l.err != nil {
			l.err = fmt.Errorf("decode record: %w", l.err)
			return
		}
		l.data, l.err = json.Marshal(toJSON(raw))
	})
	return l.data, l.err
}

// toJSON turns decoded CBOR into what json.Marshal writes as the data model's JSON.
func toJSON(v any) any {
	switch v := v.(type) {
	case cid.Cid:
		return map[string]string{"$link": v.String()}
	case []byte:
		return map[string]string{"$bytes": base64.RawStdEncoding.EncodeToString(v)}
	case []any:
		for i := range v {
			v[i] = toJSON(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = toJSON(v[k])
		}
	}
	return v
}
