package atproto

import (
	"fmt"

	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// DecodeRecord reads a record's bytes (DAG-CBOR), as a commit holds them. Its
// error wraps ErrBadData: they are not what id, a CID, names. Bytes that are no
// atproto data make a Record without a Value.
func DecodeRecord(id string, data []byte) (*Record, error) {
	is, err := recordcid.OfBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadData, err)
	}
	if is != id {
		return nil, fmt.Errorf("%w: the record of CID %s has CID %s", ErrBadData, clip(id), is)
	}
	return decodeBlock(id, data), nil
}
