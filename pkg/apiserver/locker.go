package apiserver

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"
)

// lockTTL is how long, in seconds, a lock outlives a process that died with it.
const lockTTL = 10

// etcdLocker locks over all replicas, by keys below prefix.
type etcdLocker struct {
	etcd   *clientv3.Client
	prefix string
}

// Lock implements atprotorepo.Locker.
func (l etcdLocker) Lock(ctx context.Context, name string) (func(), error) {
	// The request may be over when the lock is given back: its end must not keep
	// the session from ending.
	sessionCtx := context.WithoutCancel(ctx)
	session, err := concurrency.NewSession(l.etcd, concurrency.WithTTL(lockTTL), concurrency.WithContext(sessionCtx))
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// Ending the session drops its keys, and with them the lock.
	unlock := func() {
		if err := session.Close(); err != nil {
			klog.FromContext(ctx).V(2).Info("A lock was not given back and will run out", "lock", name, "err", err)
		}
	}
	if err := concurrency.NewMutex(session, l.prefix+"/locks/"+name).Lock(ctx); err != nil {
		unlock()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return unlock, nil
}
