package atproto

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ipfs/go-cid"

	"socialweb.computer/infra-apiserver/internal/atproto/carproof"
)

// Export implements Repo.
func (c *Client) Export(ctx context.Context, collections []string) (map[Key]Record, Commit, error) {
	var records map[Key]Record
	var at Commit
	err := c.fetchCAR(ctx,
		&call{
			method: "com.atproto.sync.getRepo", params: url.Values{"did": {c.cfg.DID}}, did: c.cfg.DID,
			limit: c.cfg.MaxExportBytes, timeout: c.cfg.ExportTimeout,
		},
		func(b *carproof.Blocks) (err error) {
			records, at, err = c.collect(ctx, b, collections)
			return err
		})
	if err != nil {
		return nil, Commit{}, fmt.Errorf("export %s: %w", c.cfg.DID, err)
	}
	return records, at, nil
}

// collect takes the records of the collections from a complete tree. The whole
// tree is walked: a node that is missing could hold any of them.
func (c *Client) collect(ctx context.Context, b *carproof.Blocks, collections []string) (map[Key]Record, Commit, error) {
	commit, at, err := c.verifiedCommit(ctx, b)
	if err != nil {
		return nil, Commit{}, err
	}
	records := map[Key]Record{}
	err = b.Walk(commit.Data, func(path string, id cid.Cid) error {
		collection, rkey, _ := strings.Cut(path, "/")
		if !slices.Contains(collections, collection) {
			return nil
		}
		rec, err := record(b, id)
		if err != nil {
			return err
		}
		records[Key{Collection: collection, RKey: rkey}] = *rec
		return nil
	})
	if err != nil {
		return nil, Commit{}, badData(err)
	}
	return records, at, nil
}
