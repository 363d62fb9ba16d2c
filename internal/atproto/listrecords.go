package atproto

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxPage is the most that listRecords gives at once.
const maxPage = 100

// ListRecords implements Repo. limit 0 or over 100 is 100.
func (c *Client) ListRecords(ctx context.Context, collection, cursor string, limit int) ([]ListedRecord, string, error) {
	if err := checkCollection(collection); err != nil {
		return nil, "", err
	}
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	params := url.Values{"repo": {c.cfg.DID}, "collection": {collection}, "limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		params.Set("cursor", cursor)
	}
	var out struct {
		Cursor  string         `json:"cursor"`
		Records []recordOutput `json:"records"`
	}
	err := c.rpc.call(ctx, &call{method: "com.atproto.repo.listRecords", params: params, did: c.cfg.DID, out: &out})
	if errors.Is(err, errNotLocated) {
		if why := c.explain(ctx); why != nil {
			err = why
		} else {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", collection, err)
	}
	records := make([]ListedRecord, 0, len(out.Records))
	for _, r := range out.Records {
		rec, err := c.listed(ctx, collection, r)
		if errors.Is(err, ErrRecordNotFound) {
			continue // deleted since the page was made
		}
		if err != nil {
			return nil, "", fmt.Errorf("list %s: %w", collection, err)
		}
		records = append(records, rec)
	}
	// The reference PDS gives a cursor with the last page too; an empty page is
	// the end wherever it comes.
	if len(out.Records) == 0 {
		out.Cursor = ""
	}
	if out.Cursor != "" && out.Cursor == cursor {
		return nil, "", fmt.Errorf("list %s at %s: %w: the cursor doesn't move", collection, c.cfg.PDS, ErrBadData)
	}
	return records, out.Cursor, nil
}

// listed checks one record of a page.
func (c *Client) listed(ctx context.Context, collection string, r recordOutput) (ListedRecord, error) {
	rkey, ok := strings.CutPrefix(r.URI, "at://"+c.cfg.DID+"/"+collection+"/")
	key := Key{Collection: collection, RKey: rkey}
	if !ok || checkKey(key) != nil {
		return ListedRecord{}, fmt.Errorf("%w: record %s in the list of %s", ErrBadData, clip(r.URI), c.cfg.DID)
	}
	if rec, ok := decodeJSON(r); ok {
		return ListedRecord{RKey: rkey, Record: *rec}, nil
	}
	rec, err := c.getProven(ctx, key)
	if err != nil {
		return ListedRecord{}, err
	}
	return ListedRecord{RKey: rkey, Record: *rec}, nil
}
