package atproto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// putRecordInput is the body of com.atproto.repo.putRecord. indigo's types can't
// express the three conditions of a write: one of them drops a null swapRecord
// (unconditional), the other always sends one (create only).
type putRecordInput struct {
	Repo       string          `json:"repo"`
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	Record     map[string]any  `json:"record"`
	SwapRecord json.RawMessage `json:"swapRecord,omitempty"`
}

// deleteRecordInput is the body of com.atproto.repo.deleteRecord.
type deleteRecordInput struct {
	Repo       string          `json:"repo"`
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	SwapRecord json.RawMessage `json:"swapRecord,omitempty"`
}

// commitMeta is com.atproto.repo.defs#commitMeta.
type commitMeta struct {
	CID string `json:"cid"`
	Rev string `json:"rev"`
}

// swapJSON: absent, null or a CID.
func (s Swap) swapJSON() (json.RawMessage, error) {
	if s.Any {
		return nil, nil
	}
	if s.CID == "" {
		return json.RawMessage("null"), nil
	}
	if _, err := syntax.ParseCID(s.CID); err != nil {
		return nil, fmt.Errorf("swap: %w: %w", ErrInvalidSwap, err)
	}
	return json.Marshal(s.CID)
}

// PutRecord implements Repo.
func (c *Client) PutRecord(ctx context.Context, key Key, value map[string]any, swap Swap) (PutResult, error) {
	if c.cfg.Auth == nil {
		return PutResult{}, c.noAuth()
	}
	if err := errors.Join(checkKey(key), CheckRecord(value)); err != nil {
		return PutResult{}, fmt.Errorf("put %s: %w", key.Path(), err)
	}
	cond, err := swap.swapJSON()
	if err != nil {
		return PutResult{}, fmt.Errorf("put %s: %w", key.Path(), err)
	}
	var out struct {
		CID    string      `json:"cid"`
		Commit *commitMeta `json:"commit"`
	}
	err = c.rpc.call(ctx, &call{
		method: "com.atproto.repo.putRecord", post: true, write: true, did: c.cfg.DID, auth: c.cfg.Auth,
		body: putRecordInput{Repo: c.cfg.DID, Collection: key.Collection, RKey: key.RKey, Record: value, SwapRecord: cond},
		out:  &out,
	})
	if err != nil {
		return PutResult{}, c.writeError(ctx, "put", key, err)
	}
	if _, err := syntax.ParseCID(out.CID); err != nil {
		return PutResult{}, fmt.Errorf("put %s: %w: %w: %w", key.Path(), ErrUnknownOutcome, ErrBadData, err)
	}
	commit, err := c.written(out.Commit)
	if err != nil {
		return PutResult{}, fmt.Errorf("put %s: %w", key.Path(), err)
	}
	return PutResult{CID: out.CID, Commit: commit}, nil
}

// DeleteRecord implements Repo.
func (c *Client) DeleteRecord(ctx context.Context, key Key, swap Swap) (*Commit, error) {
	if c.cfg.Auth == nil {
		return nil, c.noAuth()
	}
	if !swap.Any && swap.CID == "" {
		return nil, fmt.Errorf("delete %s: %w: there is no record to delete where none must exist", key.Path(), ErrInvalidSwap)
	}
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("delete: %w", err)
	}
	cond, err := swap.swapJSON()
	if err != nil {
		return nil, fmt.Errorf("delete %s: %w", key.Path(), err)
	}
	var out struct {
		Commit *commitMeta `json:"commit"`
	}
	err = c.rpc.call(ctx, &call{
		method: "com.atproto.repo.deleteRecord", post: true, write: true, did: c.cfg.DID, auth: c.cfg.Auth,
		body: deleteRecordInput{Repo: c.cfg.DID, Collection: key.Collection, RKey: key.RKey, SwapRecord: cond},
		out:  &out,
	})
	if err != nil {
		return nil, c.writeError(ctx, "delete", key, err)
	}
	commit, err := c.written(out.Commit)
	if err != nil {
		return nil, fmt.Errorf("delete %s: %w", key.Path(), err)
	}
	return commit, nil
}

// written checks the commit of a write that succeeded; a bad one leaves open
// which state the repository is in.
func (c *Client) written(m *commitMeta) (*Commit, error) {
	if m == nil {
		return nil, nil
	}
	commit, err := c.checkCommit(m.CID, m.Rev)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return &commit, nil
}

// writeError explains a write that could not find its repository: nothing was
// written then.
func (c *Client) writeError(ctx context.Context, what string, key Key, err error) error {
	if errors.Is(err, errNotLocated) {
		if why := c.explain(ctx); why != nil {
			err = why
		} else {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return fmt.Errorf("%s %s: %w", what, key.Path(), err)
}
