package repos

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
)

// rotating is the Auth of an account whose credentials may change: where they
// are refused it asks the provider again, and goes on with new ones if there are.
type rotating struct {
	provider        credentials.Provider
	workspace, name string
	make            func(credentials.Credentials) (atproto.Auth, error)

	mu    sync.Mutex // guards what follows
	creds credentials.Credentials
	inner atproto.Auth
	// epoch counts the credentials. It is the upper half of the generations that
	// callers see, so that those of two sessions never meet.
	epoch uint32
}

var _ atproto.Auth = (*rotating)(nil)

// Authorize implements atproto.Auth.
func (r *rotating) Authorize(ctx context.Context, req *http.Request) (uint64, error) {
	inner, epoch, err := r.current(ctx)
	if err != nil {
		return 0, err
	}
	gen, err := inner.Authorize(ctx, req)
	if errors.Is(err, atproto.ErrUnauthorized) {
		changed, rerr := r.reload(ctx, epoch)
		if rerr != nil || !changed {
			return 0, errors.Join(err, rerr)
		}
		if inner, epoch, err = r.current(ctx); err == nil {
			gen, err = inner.Authorize(ctx, req)
		}
	}
	return uint64(epoch)<<32 | gen, err
}

// Renew implements atproto.Auth.
func (r *rotating) Renew(ctx context.Context, generation uint64) error {
	inner, epoch, err := r.current(ctx)
	if err != nil {
		return err
	}
	if uint64(epoch) != generation>>32 {
		return nil // replaced already
	}
	err = inner.Renew(ctx, generation&(1<<32-1))
	if !errors.Is(err, atproto.ErrUnauthorized) {
		return err
	}
	changed, rerr := r.reload(ctx, epoch)
	if rerr != nil || !changed {
		return errors.Join(err, rerr)
	}
	return nil
}

// current is the session in use; the first call loads the credentials.
func (r *rotating) current(ctx context.Context) (atproto.Auth, uint32, error) {
	r.mu.Lock()
	inner, epoch := r.inner, r.epoch
	r.mu.Unlock()
	if inner != nil {
		return inner, epoch, nil
	}
	if _, err := r.reload(ctx, epoch); err != nil {
		return nil, 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inner, r.epoch, nil
}

// reload asks the provider, unless somebody did since epoch, and tells whether
// the credentials are others than those of epoch.
func (r *rotating) reload(ctx context.Context, epoch uint32) (bool, error) {
	creds, err := find(ctx, r.provider, r.workspace, r.name)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch {
		return true, nil
	}
	if r.inner != nil && creds == r.creds {
		return false, nil
	}
	inner, err := r.make(creds)
	if err != nil {
		return false, err
	}
	r.inner, r.creds = inner, creds
	r.epoch++
	return true, nil
}
