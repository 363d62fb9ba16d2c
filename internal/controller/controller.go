package controller

import (
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
)

// DefaultWorkers is how many objects are reconciled at once.
const DefaultWorkers = 8

// Config of a Controller.
type Config struct {
	// Server of the deployments, repositories and collections.
	Server *rest.Config
	// Contracts is the server of the ComputeContracts; nil: the same.
	Contracts *rest.Config
	// Workspaces says that the servers have a door /clusters/<workspace> for each
	// workspace, and that all are to be kept.
	Workspaces bool
	// KCP is the APIExport that the workspaces bind, beside Workspaces: the objects of one
	// that doesn't any more are kept, and nothing new is requested for them. nil: no
	// workspace goes.
	KCP *export.Client
	// Workers; 0: DefaultWorkers.
	Workers int
	// Recorder takes Events; nil: changes are logged only.
	Recorder events.EventRecorder
	// Clock of deadlines; nil: the real one.
	Clock clock.WithTicker
}

// Controller keeps the deployments of a server.
type Controller struct {
	informers  *informers
	reconciler *reconciler
	queue      *queue
	workers    int
	ready      chan struct{}
	bindings   *bindings.Watcher // nil: no workspace goes
}

// New makes a Controller. Nothing is asked of the server yet.
func New(c Config) (*Controller, error) {
	if c.Server == nil {
		return nil, errors.New("controller: no server")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	deployments, err := newClients(c.Server, c.Workspaces)
	if err != nil {
		return nil, err
	}
	contracts := deployments
	if c.Contracts != nil {
		if contracts, err = newClients(c.Contracts, c.Workspaces); err != nil {
			return nil, err
		}
	}
	seen, err := newInformers(deployments, contracts)
	if err != nil {
		return nil, err
	}
	made := &Controller{
		informers: seen,
		queue:     newQueue(c.Clock),
		workers:   c.Workers,
		ready:     make(chan struct{}),
		reconciler: &reconciler{
			api: &calls{deployments, contracts}, cache: seen, clock: c.Clock, tell: newTeller(c.Recorder),
		},
	}
	registerMetrics()
	if c.KCP != nil {
		made.lookAfterWorkspaces(c.KCP, c.Clock)
	}
	return made, nil
}

// Ready is closed once everything was seen, so that it is at work.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// Run keeps the deployments until ctx ends, and returns when all has ended. It can
// be called once.
func (c *Controller) Run(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("infra-controller"))
	if err := c.wake().register(); err != nil {
		return err
	}
	informing, stop := context.WithCancel(ctx)
	wait := c.informers.run(informing)
	defer wait()
	defer stop()
	defer c.queue.ShutDown()
	if !c.informers.synced(ctx) {
		return nil // it was ended before
	}
	close(c.ready)
	if c.bindings != nil {
		var looking sync.WaitGroup
		looking.Go(func() { c.bindings.Run(informing) })
		defer looking.Wait()
		defer stop()
	}
	klog.FromContext(ctx).V(1).Info("At work", "workers", c.workers)
	c.queue.run(ctx, c.workers, c.reconciler.reconcile)
	return nil
}
