package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/config"
)

// errLost says that another may lead now.
var errLost = errors.New("the lease was lost")

// lead waits until it is elected, runs, and gives the lease back once what ran has
// ended. It returns errLost where the lease was not renewed in time.
func lead(ctx context.Context, cluster kubernetes.Interface, c *config.LeaderElectionConfiguration, h *health, run func(context.Context) error) error {
	// The candidate outlives ctx: the lease is given back after the last call.
	candidate, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	elected := make(chan context.Context, 1)
	elector, err := newElector(cluster, c, h, func(leading context.Context) { elected <- leading })
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(candidate)
	}()
	defer func() { <-over }()
	defer resign()
	var leading context.Context
	select {
	case <-ctx.Done():
		return nil
	case leading = <-elected:
	}
	h.leading.Store(true)
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(leading, stop)()
	err = run(running)
	if ctx.Err() == nil && leading.Err() != nil {
		return errors.Join(errLost, err)
	}
	return err
}

func newElector(cluster kubernetes.Interface, c *config.LeaderElectionConfiguration, h *health, elected func(context.Context)) (*leaderelection.LeaderElector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.ResourceNamespace, Name: c.ResourceName},
			Client:     cluster.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration:   c.LeaseDuration.Duration,
		RenewDeadline:   c.RenewDeadline.Duration,
		RetryPeriod:     c.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Name:            c.ResourceName,
		WatchDog:        h.watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: elected,
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	return elector, nil
}
