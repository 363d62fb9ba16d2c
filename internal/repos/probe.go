package repos

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

const (
	// probeCollection holds nothing: a PDS that honours swapRecord never writes
	// what the probe asks for.
	probeCollection = "computer.socialweb.probe"
	// probeCID is the CID of a record that the probe's key never had.
	probeCID = "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
)

// swapHonoured finds out whether the PDS honours swapRecord: it puts a record
// where there is none, on the condition that there is one. A PDS that refuses
// has written nothing; where one accepts, the record is deleted at once. An
// error leaves the question open.
func swapHonoured(ctx context.Context, repo atproto.Repo) (bool, error) {
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return false, fmt.Errorf("swap probe: %w", err)
	}
	at := atproto.Key{Collection: probeCollection, RKey: "probe-" + hex.EncodeToString(suffix[:])}
	record := map[string]any{"$type": probeCollection}
	_, err := repo.PutRecord(ctx, at, record, atproto.Swap{CID: probeCID})
	switch {
	case errors.Is(err, atproto.ErrInvalidSwap):
		return true, nil
	case err != nil && !errors.Is(err, atproto.ErrUnknownOutcome):
		return false, fmt.Errorf("swap probe: %w", err)
	}
	// Written, or nobody knows: either way nothing may stay behind.
	if _, derr := repo.DeleteRecord(ctx, at, atproto.Swap{Any: true}); derr != nil {
		return false, fmt.Errorf("swap probe: removing %s: %w", at.Path(), derr)
	}
	if err != nil {
		return false, fmt.Errorf("swap probe: %w", err)
	}
	return false, nil
}
