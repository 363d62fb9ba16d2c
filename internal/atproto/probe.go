package atproto

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// ProbeSwap finds out whether the PDS honours swapRecord, on which every write of
// the storage stands: some don't. It tries to replace a record that does not
// exist, which an honest PDS refuses without writing anything. One that ignores
// the swap creates the record; it is deleted again, and the answer is false.
func ProbeSwap(ctx context.Context, r Repo, collection string) (honoured bool, err error) {
	key := Key{Collection: collection, RKey: "swap-probe-" + strings.ToLower(rand.Text())}
	value := map[string]any{"$type": collection, "description": "Probe of the swap. It can be deleted."}
	id, err := recordcid.Of(map[string]any{"$type": collection})
	if err != nil {
		return false, fmt.Errorf("probe the swap of %s: %w", r.Host(), err)
	}
	_, err = r.PutRecord(ctx, key, value, Swap{CID: id})
	if errors.Is(err, ErrInvalidSwap) {
		return true, nil
	}
	if err != nil && !errors.Is(err, ErrUnknownOutcome) {
		return false, fmt.Errorf("probe the swap of %s: %w", r.Host(), err)
	}
	// The record exists, or may come to exist.
	_, derr := r.DeleteRecord(context.WithoutCancel(ctx), key, Swap{Any: true})
	if err = errors.Join(err, derr); err != nil {
		return false, fmt.Errorf("probe the swap of %s, record %s may be left: %w", r.Host(), key.Path(), err)
	}
	return false, nil
}
