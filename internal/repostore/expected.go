package repostore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/warning"
)

// ExpectedRepo is a repository that an AtprotoRepo names and that can't be mounted
// yet. Its objects are in the views, and nobody brings them up: a consistent read
// must not answer them as if they were new (I7).
type ExpectedRepo struct {
	// Workspace and Name of the AtprotoRepo.
	Workspace, Name string
	// DID of its account. Views are known by it.
	DID string
	// Served: records of it were served before, and appear by themselves.
	Served bool
	// StaleReads as in MountedRepo.
	StaleReads bool
	// Reason why it isn't mounted.
	Reason string
}

// ExpectRepo holds the place of a repository until SetRepo or RemoveRepo is called
// for it. It changes nothing where the repository is mounted.
func (h *Hub) ExpectRepo(r ExpectedRepo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mounts[r.Workspace][r.Name] != nil {
		return
	}
	if h.expected[r.Workspace] == nil {
		if h.expected == nil {
			h.expected = map[string]map[string]ExpectedRepo{}
		}
		h.expected[r.Workspace] = map[string]ExpectedRepo{}
	}
	h.expected[r.Workspace][r.Name] = r
}

func (h *Hub) dropExpectedLocked(ws, name string) {
	delete(h.expected[ws], name)
	if len(h.expected[ws]) == 0 {
		delete(h.expected, ws)
	}
}

// expectedIn lists the places held in a workspace, but for accounts that another
// AtprotoRepo serves.
func (h *Hub) expectedIn(ws string) []ExpectedRepo {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.expected[ws]) == 0 {
		return nil
	}
	served := map[string]bool{}
	for _, m := range h.mounts[ws] {
		served[m.Repo.DID()] = true
	}
	var out []ExpectedRepo
	for _, r := range h.expected[ws] {
		if !served[r.DID] {
			out = append(out, r)
		}
	}
	return out
}

// barrierExpected is the barrier of a repository that isn't mounted. One that no
// object is of holds nobody up: it may never become ready.
func (h *Hub) barrierExpected(ctx context.Context, r ExpectedRepo) error {
	if !r.Served {
		if found, err := h.hasObjects(ctx, r.Workspace, r.DID); err != nil || !found {
			return err
		}
	}
	return r.staleOr(ctx)
}

// staleOr is a warning where the owner prefers a stale answer to none.
func (r ExpectedRepo) staleOr(ctx context.Context) error {
	if r.StaleReads && ctx.Err() == nil {
		warning.AddWarning(ctx, "", fmt.Sprintf("AtprotoRepo %q is unavailable; this answer shows it as it was last seen", r.Name))
		return nil
	}
	return fmt.Errorf("AtprotoRepo %q (%s): %w: %s; its spec.staleReads Allow, or spec.access None, lets reads go on without it",
		r.Name, r.DID, ErrNotMounted, r.Reason)
}

// unmounted says what a read of an object finds whose repository isn't mounted.
func (h *Hub) unmounted(ctx context.Context, ws string, uri recordURI) error {
	for _, r := range h.expectedIn(ws) {
		if r.DID == uri.did {
			return r.staleOr(ctx)
		}
	}
	return notMounted(uri)
}

// hasObjects tells whether an object of the workspace has a record of the account.
func (h *Hub) hasObjects(ctx context.Context, ws, did string) (bool, error) {
	for _, s := range h.allStores() {
		resp, err := h.etcd.Get(ctx, s.keys.uids(s.resource.Resource, ws, did), clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return false, fmt.Errorf("objects of %s: %w", did, err)
		}
		if resp.Count > 0 {
			return true, nil
		}
	}
	return false, nil
}
