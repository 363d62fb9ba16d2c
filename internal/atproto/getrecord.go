package atproto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/bluesky-social/indigo/atproto/atdata"

	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// recordOutput is the answer of com.atproto.repo.getRecord and one record of
// listRecords.
type recordOutput struct {
	URI   string          `json:"uri"`
	CID   string          `json:"cid"`
	Value json.RawMessage `json:"value"`
}

// GetRecord implements Repo.
//
// The JSON form of a record loses what is not in the data model (a float, an
// integer over 2^53). Where it does not give the CID that the PDS names, the
// record is read with its proof instead, whose bytes decide.
func (c *Client) GetRecord(ctx context.Context, key Key) (*Record, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	var out recordOutput
	err := c.rpc.call(ctx, &call{
		method: "com.atproto.repo.getRecord",
		params: url.Values{"repo": {c.cfg.DID}, "collection": {key.Collection}, "rkey": {key.RKey}},
		did:    c.cfg.DID, out: &out,
	})
	switch {
	case errors.Is(err, errNotLocated):
		// The repository may be inactive. If it isn't, the proof says whether
		// there is a record: older PDSes answer a missing one like this.
		if err := c.explain(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", key.Path(), err)
		}
		return c.getProven(ctx, key)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key.Path(), err)
	}
	if rec, ok := decodeJSON(out); ok {
		return rec, nil
	}
	return c.getProven(ctx, key)
}

// getProven is GetRecord by way of ProveRecord.
func (c *Client) getProven(ctx context.Context, key Key) (*Record, error) {
	rec, _, err := c.ProveRecord(ctx, key)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, fmt.Errorf("%s at %s: %w", key.Path(), c.cfg.PDS, ErrRecordNotFound)
	}
	return rec, nil
}

// decodeJSON gives the record if its value has the CID that came with it.
func decodeJSON(r recordOutput) (*Record, bool) {
	if !shallowJSON(r.Value) {
		return nil, false
	}
	value, err := atdata.UnmarshalJSON(r.Value)
	if err != nil {
		return nil, false
	}
	if id, err := recordcid.Of(value); err != nil || id != r.CID {
		return nil, false
	}
	return &Record{CID: r.CID, Value: value}, true
}
