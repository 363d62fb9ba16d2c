package kubectlinfra

import (
	"context"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// pair is a deployment and its record.
type pair struct {
	*deployment
	pds    string
	record *atproto.Record
}

// pdsError is what went wrong at a PDS. It unwraps to nothing: words takes no network
// error of it for one of the API server's.
type pdsError struct{ err error }

// Error implements error.
func (e *pdsError) Error() string { return e.err.Error() }

// looks bounds how often object and record are read until they are of one time.
const looks = 3

// readPair reads the object and the record, anew if the record changed in between.
func readPair(ctx context.Context, c *client, t target) (*pair, error) {
	var p pair
	for range looks {
		var err error
		if p.deployment, err = c.deployment(ctx, t); err != nil {
			return nil, err
		}
		status, binding := p.status.Record, p.spec.Record
		if status == nil || status.URI == "" || binding == nil {
			return nil, fmt.Errorf("%s: %w", t.plain(), errPrivate)
		}
		if p.pds, err = c.pdsOf(ctx, binding.RepoRef.Name); err != nil {
			return nil, err
		}
		if p.record, err = fetch(ctx, p.pds, status.URI); err != nil {
			return nil, &pdsError{fmt.Errorf("record of %s: %w", t.plain(), err)}
		}
		if p.record.CID == status.CID {
			break
		}
	}
	return &p, nil
}

// pdsOf is the base URL of the PDS in use for an AtprotoRepo.
func (c *client) pdsOf(ctx context.Context, repo string) (string, error) {
	r, err := c.repo(ctx, repo)
	if err != nil {
		return "", err
	}
	if r.Status.PDS == "" {
		return "", fmt.Errorf("atprotorepo %s: its PDS isn't known yet: see its conditions", repo)
	}
	return r.Status.PDS, nil
}

// fetch reads a record. The PDS may be at a private address: whoever calls has asked
// for that one.
func fetch(ctx context.Context, pds, uri string) (*atproto.Record, error) {
	at, err := syntax.ParseATURI(uri)
	if err != nil {
		return nil, err
	}
	config := atproto.Config{PDS: pds, DID: at.Authority().String(), HTTP: atproto.NewHTTPClient(true), UserAgent: "kubectl-infra"}
	defer config.HTTP.CloseIdleConnections()
	// What the PDS says is what is asked for: it may name its accounts' keys too.
	identity, err := atproto.NewPDSIdentity(config)
	if err != nil {
		return nil, err
	}
	config.Keys = atproto.NewKeys(identity, nil)
	repo, err := atproto.NewClient(config)
	if err != nil {
		return nil, err
	}
	return repo.GetRecord(ctx, atproto.Key{Collection: at.Collection().String(), RKey: at.RecordKey().String()})
}
