// Package recordcid computes the CID that a PDS will give a record.
package recordcid

import (
	"fmt"

	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// Of is the CID (v1, dag-cbor, sha-256, base32) of a record in the atproto data
// model, as https://atproto.com/specs/data-model defines it.
func Of(value map[string]any) (string, error) {
	b, err := atdata.MarshalCBOR(value)
	if err != nil {
		return "", fmt.Errorf("encode record: %w", err)
	}
	return OfBytes(b)
}

// OfBytes is the CID of a record's DRISL (deterministic DAG-CBOR) bytes.
func OfBytes(b []byte) (string, error) {
	c, err := cid.NewPrefixV1(cid.DagCBOR, multihash.SHA2_256).Sum(b)
	if err != nil {
		return "", fmt.Errorf("hash record: %w", err)
	}
	return c.String(), nil
}
