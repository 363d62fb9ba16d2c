package repostore

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"
)

// whileElected runs f on one replica at a time, and again after it failed, until
// ctx ends.
func (h *Hub) whileElected(ctx context.Context, name string, f func(context.Context) error) {
	for ctx.Err() == nil {
		if err := h.elected(ctx, name, f); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "An elected task stopped, will try again", "task", name)
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(time.Second):
		}
	}
}

// releaseTimeout bounds how long a stop waits to give an election up.
const releaseTimeout = 2 * time.Second

// elected runs f while this process leads the named election.
func (h *Hub) elected(ctx context.Context, name string, f func(context.Context) error) error {
	session, err := concurrency.NewSession(h.etcd, concurrency.WithTTL(10), concurrency.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("election session: %w", err)
	}
	defer func() {
		session.Orphan()
		// The session's own Close would use ctx, which has ended when this process
		// stops: the next leader would wait until the lease is over.
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		_, _ = h.etcd.Revoke(release, session.Lease()) // if this fails the lease ends by itself
	}()
	election := concurrency.NewElection(session, h.keys.prefix+"/elections/"+name)
	if err := election.Campaign(ctx, h.replica); err != nil {
		return fmt.Errorf("campaign for %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-session.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return f(ctx)
}
