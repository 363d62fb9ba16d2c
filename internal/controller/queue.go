package controller

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/fairly"
)

const (
	// firstRetry and lastRetry bound the time until an object that failed is tried
	// again. An outage then costs little, and its end is noticed soon.
	firstRetry = 10 * time.Millisecond
	lastRetry  = 30 * time.Second
	// endGrace is how long calls may take after the end.
	endGrace = time.Second
)

// queue is the objects that wait to be reconciled.
type queue struct {
	workqueue.TypedRateLimitingInterface[Key]
	clock clock.WithTicker
}

func newQueue(c clock.WithTicker) *queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[Key](firstRetry, lastRetry)
	return &queue{clock: c, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[Key]{Name: "infra_controller", Clock: c})}
}

// run reconciles with n workers, fairly to all workspaces, until ctx ends and the last
// call has returned. Calls that are under way then have a short time to end by themselves.
func (q *queue) run(ctx context.Context, n int, reconcile func(context.Context, Key) (time.Time, error)) {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	crew := &fairly.Crew[Key]{Queue: q, Workspace: func(k Key) string { return k.Workspace }, Workers: n, Clock: q.clock}
	crew.Do = func(calls context.Context, k Key) {
		if ctx.Err() == nil {
			q.work(calls, k, reconcile)
		}
	}
	var working sync.WaitGroup
	working.Go(func() { crew.Run(calls) })
	<-ctx.Done()
	q.ShutDown()
	late := time.AfterFunc(endGrace, cancel)
	defer late.Stop()
	working.Wait()
}

// work reconciles one object.
func (q *queue) work(ctx context.Context, k Key, reconcile func(context.Context, Key) (time.Time, error)) {
	defer utilruntime.HandleCrashWithContext(ctx)
	log := klog.FromContext(ctx).WithValues("kind", k.Kind, "object", klog.KObj(k))
	at, err := reconcile(klog.NewContext(ctx, log), k)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsConflict(err):
		// Somebody wrote meanwhile, or the cache is behind: no fault.
		log.V(4).Info("Will look again", "err", err)
		q.AddRateLimited(k)
		return
	case err != nil:
		log.Info("Not reconciled, will try again", "err", err, "failures", q.NumRequeues(k)+1)
		q.AddRateLimited(k)
		return
	}
	q.Forget(k)
	if !at.IsZero() {
		q.AddAfter(k, max(at.Sub(q.clock.Now()), 0))
	}
}
