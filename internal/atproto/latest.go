package atproto

import "context"

// LatestCommits makes a function that asks the PDS of cfg for any account's
// latest commit; cfg.DID and cfg.Auth are ignored. Event sources poll with it: it is
// Housekeeping.
func LatestCommits(cfg Config) (func(ctx context.Context, did string) (Commit, error), error) {
	cfg.DID = anyDID
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	r := newRPC(cfg)
	return func(ctx context.Context, did string) (Commit, error) {
		own := cfg
		own.DID = did
		return (&Client{cfg: own, rpc: r}).LatestCommit(Housekeeping(ctx))
	}, nil
}
