package atproto

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// Client is one account's repository at its PDS, over XRPC. Reads are anonymous,
// so that they work while a session can't be had; writes are signed by
// Config.Auth.
type Client struct {
	cfg Config
	rpc *rpc
}

var _ Repo = (*Client)(nil)

// NewClient makes a client. It sends nothing yet.
func NewClient(cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, rpc: newRPC(cfg)}, nil
}

// DID implements Repo.
func (c *Client) DID() string { return c.cfg.DID }

// Host implements Repo.
func (c *Client) Host() string { return c.cfg.PDS }

// Budget is the request budget that this client shares with its host's others.
func (c *Client) Budget() *Budget { return c.cfg.Budget }

// Keys finds the account's signing key; event sources can share it.
func (c *Client) Keys() KeyResolver { return c.cfg.Keys }

// CheckAuth makes sure that the credentials open a session of this account
// (com.atproto.server.getSession). ErrUnauthorized where they don't, or where
// there are none.
func (c *Client) CheckAuth(ctx context.Context) error {
	if c.cfg.Auth == nil {
		return c.noAuth()
	}
	var out session
	err := c.rpc.call(ctx, &call{method: "com.atproto.server.getSession", did: c.cfg.DID, upkeep: true, auth: c.cfg.Auth, secret: true, out: &out})
	if err != nil {
		return err
	}
	if out.DID != c.cfg.DID {
		return fmt.Errorf("session at %s: %w: it is of account %q, not %q", c.cfg.PDS, ErrUnauthorized, out.DID, c.cfg.DID)
	}
	return nil
}

func (c *Client) noAuth() error {
	return fmt.Errorf("%s at %s: %w: no credentials", c.cfg.DID, c.cfg.PDS, ErrUnauthorized)
}

// LatestCommit implements Repo.
func (c *Client) LatestCommit(ctx context.Context) (Commit, error) {
	var out struct {
		CID string `json:"cid"`
		Rev string `json:"rev"`
	}
	err := c.rpc.call(ctx, &call{
		method: "com.atproto.sync.getLatestCommit", params: url.Values{"did": {c.cfg.DID}}, did: c.cfg.DID, upkeep: true, out: &out,
	})
	if errors.Is(err, errNotLocated) {
		return Commit{}, fmt.Errorf("%w: %w", ErrRepoNotFound, err)
	}
	if err != nil {
		return Commit{}, err
	}
	return c.checkCommit(out.CID, out.Rev)
}

// checkCommit refuses a commit whose rev could not be compared.
func (c *Client) checkCommit(id, rev string) (Commit, error) {
	if _, err := syntax.ParseTID(rev); err != nil {
		return Commit{}, fmt.Errorf("commit of %s at %s: %w: %w", c.cfg.DID, c.cfg.PDS, ErrBadData, err)
	}
	if _, err := syntax.ParseCID(id); err != nil {
		return Commit{}, fmt.Errorf("commit of %s at %s: %w: %w", c.cfg.DID, c.cfg.PDS, ErrBadData, err)
	}
	return Commit{CID: id, Rev: rev}, nil
}

// explain finds out what "could not locate" means by asking for the latest
// commit: nil when the repository is there and active, else why it is not.
func (c *Client) explain(ctx context.Context) error {
	_, err := c.LatestCommit(ctx)
	return err
}

// checkKey refuses a key that the PDS would refuse, or misread.
func checkKey(k Key) error {
	if err := checkCollection(k.Collection); err != nil {
		return err
	}
	if _, err := syntax.ParseRecordKey(k.RKey); err != nil {
		return fmt.Errorf("%s: %w: %w", k.Path(), ErrInvalidRecord, err)
	}
	return nil
}

func checkCollection(collection string) error {
	if _, err := syntax.ParseNSID(collection); err != nil {
		return fmt.Errorf("collection %q: %w: %w", collection, ErrInvalidRecord, err)
	}
	return nil
}
