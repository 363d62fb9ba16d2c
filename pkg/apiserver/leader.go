package apiserver

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"
)

// electionPause is between two attempts to take part in an election.
const electionPause = time.Second

// leader knows whether this replica is the one that writes what all replicas see.
// Nothing depends on there being one only: two at once write the same.
type leader struct {
	etcd         *clientv3.Client
	key, replica string
	leading      atomic.Bool
}

// Leading tells whether this replica is elected.
func (l *leader) Leading() bool { return l.leading.Load() }

// Run takes part in the election until ctx ends, and gives the office back then.
func (l *leader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.term(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Not elected, will try again", "election", l.key, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(electionPause):
		}
	}
	return nil
}

// term campaigns, and leads until ctx or the lease ends.
func (l *leader) term(ctx context.Context) error {
	// The session outlives ctx, so that the office can be given back.
	session, err := concurrency.NewSession(l.etcd, concurrency.WithTTL(lockTTL), concurrency.WithContext(context.WithoutCancel(ctx)))
	if err != nil {
		return fmt.Errorf("election session: %w", err)
	}
	defer func() {
		l.leading.Store(false)
		if err := session.Close(); err != nil {
			klog.FromContext(ctx).V(2).Info("An office was not given back and will run out", "election", l.key, "err", err)
		}
	}()
	if err := concurrency.NewElection(session, l.key).Campaign(ctx, l.replica); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	l.leading.Store(true)
	select {
	case <-ctx.Done():
	case <-session.Done():
	}
	return nil
}
