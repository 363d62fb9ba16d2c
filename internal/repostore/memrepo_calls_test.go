package repostore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

var _ atproto.Repo = (*memRepo)(nil)

// DID implements atproto.Repo.
func (r *memRepo) DID() string { return r.did }

// Host implements atproto.Repo.
func (r *memRepo) Host() string { return "http://memory.test" }

// GetRecord implements atproto.Repo.
func (r *memRepo) GetRecord(ctx context.Context, key atproto.Key) (*atproto.Record, error) {
	if _, err := r.enter(ctx, "get", key); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.recordLocked(key)
	if rec == nil {
		return nil, fmt.Errorf("get %s: %w", key.Path(), atproto.ErrRecordNotFound)
	}
	return rec, nil
}

func (r *memRepo) recordLocked(key atproto.Key) *atproto.Record {
	b, ok := r.records[key]
	if !ok {
		return nil
	}
	cid, err := recordcid.OfBytes(b)
	if err != nil {
		panic(err)
	}
	return &atproto.Record{CID: cid, Value: decodeRecord(b)}
}

// ProveRecord implements atproto.Repo.
func (r *memRepo) ProveRecord(ctx context.Context, key atproto.Key) (*atproto.Record, atproto.Commit, error) {
	if _, err := r.enter(ctx, "prove", key); err != nil {
		return nil, atproto.Commit{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recordLocked(key), r.latestLocked(), nil
}

func (r *memRepo) latestLocked() atproto.Commit {
	rev := r.headLocked()
	return atproto.Commit{CID: commitCID(rev), Rev: rev}
}

// LatestCommit implements atproto.Repo.
func (r *memRepo) LatestCommit(ctx context.Context) (atproto.Commit, error) {
	if _, err := r.enter(ctx, "latest", atproto.Key{}); err != nil {
		return atproto.Commit{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latestLocked(), nil
}

// ListRecords implements atproto.Repo: rkeys descend, and the last page has a
// cursor too.
func (r *memRepo) ListRecords(ctx context.Context, collection, cursor string, limit int) ([]atproto.ListedRecord, string, error) {
	if _, err := r.enter(ctx, "list", atproto.Key{Collection: collection}); err != nil {
		return nil, "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for k := range r.records {
		if k.Collection == collection && (cursor == "" || k.RKey < cursor) {
			keys = append(keys, k.RKey)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(b, a) })
	if limit > 0 && len(keys) > limit {
		keys = keys[:limit]
	}
	var out []atproto.ListedRecord
	for _, rkey := range keys {
		out = append(out, atproto.ListedRecord{RKey: rkey, Record: *r.recordLocked(atproto.Key{Collection: collection, RKey: rkey})})
		cursor = rkey
	}
	if len(out) == 0 {
		cursor = ""
	}
	return out, cursor, nil
}

// Export implements atproto.Repo.
func (r *memRepo) Export(ctx context.Context, collections []string) (map[atproto.Key]atproto.Record, atproto.Commit, error) {
	if _, err := r.enter(ctx, "export", atproto.Key{}); err != nil {
		return nil, atproto.Commit{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dirty {
		return nil, atproto.Commit{}, fmt.Errorf("export: %w", atproto.ErrIncomplete)
	}
	out := map[atproto.Key]atproto.Record{}
	for _, k := range slices.Collect(maps.Keys(r.records)) {
		if slices.Contains(collections, k.Collection) {
			out[k] = *r.recordLocked(k)
		}
	}
	return out, r.latestLocked(), nil
}

// PutRecord implements atproto.Repo.
func (r *memRepo) PutRecord(ctx context.Context, key atproto.Key, value map[string]any, swap atproto.Swap) (atproto.PutResult, error) {
	b, cid, err := encodeRecord(key, value)
	if err != nil {
		return atproto.PutResult{}, fmt.Errorf("put %s: %w", key.Path(), err)
	}
	f, err := r.enter(ctx, "put", key)
	if err != nil {
		return atproto.PutResult{}, fmt.Errorf("put %s: %w", key.Path(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := actorFrom(ctx)
	if f.late {
		r.late = append(r.late, func() { _, _ = r.putLocked(by, key, b, cid, swap, true) })
		return atproto.PutResult{}, fmt.Errorf("put %s: %w", key.Path(), atproto.ErrUnknownOutcome)
	}
	res, err := r.putLocked(by, key, b, cid, swap, false)
	if f.lost {
		return atproto.PutResult{}, fmt.Errorf("put %s: %w", key.Path(), atproto.ErrUnknownOutcome)
	}
	return res, err
}

func (r *memRepo) putLocked(by string, key atproto.Key, b []byte, cid string, swap atproto.Swap, late bool) (atproto.PutResult, error) {
	was := ""
	if rec := r.recordLocked(key); rec != nil {
		was = rec.CID
	}
	if was == cid {
		return atproto.PutResult{CID: cid}, nil // nothing to write: the swap is not even looked at
	}
	if !swap.Any && swap.CID != was {
		return atproto.PutResult{}, fmt.Errorf("put %s: %w: record was at %q", key.Path(), atproto.ErrInvalidSwap, was)
	}
	return atproto.PutResult{CID: cid, Commit: r.commitLocked(by, key, b, cid, late)}, nil
}

// DeleteRecord implements atproto.Repo.
func (r *memRepo) DeleteRecord(ctx context.Context, key atproto.Key, swap atproto.Swap) (*atproto.Commit, error) {
	f, err := r.enter(ctx, "delete", key)
	if err != nil {
		return nil, fmt.Errorf("delete %s: %w", key.Path(), err)
	}
	if !swap.Any && swap.CID == "" {
		return nil, fmt.Errorf("delete %s: %w", key.Path(), atproto.ErrInvalidSwap)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := actorFrom(ctx)
	if f.late {
		r.late = append(r.late, func() { _, _ = r.deleteLocked(by, key, swap, true) })
		return nil, fmt.Errorf("delete %s: %w", key.Path(), atproto.ErrUnknownOutcome)
	}
	c, err := r.deleteLocked(by, key, swap, false)
	if f.lost {
		return nil, fmt.Errorf("delete %s: %w", key.Path(), atproto.ErrUnknownOutcome)
	}
	return c, err
}

func (r *memRepo) deleteLocked(by string, key atproto.Key, swap atproto.Swap, late bool) (*atproto.Commit, error) {
	rec := r.recordLocked(key)
	if rec == nil {
		return nil, nil
	}
	if !swap.Any && swap.CID != rec.CID {
		return nil, fmt.Errorf("delete %s: %w: record was at %q", key.Path(), atproto.ErrInvalidSwap, rec.CID)
	}
	return r.commitLocked(by, key, nil, "", late), nil
}
