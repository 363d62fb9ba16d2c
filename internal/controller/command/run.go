package command

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of calls, queues and elections
	_ "k8s.io/component-base/metrics/prometheus/version"  // which version it is

	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/scheme"
)

// Run elects itself and keeps the deployments until ctx ends; nil then. Who loses the
// election ends with an error: it must not go on by what it remembers.
func Run(ctx context.Context, o *Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	host, err := o.config(o.Kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := kubernetes.NewForConfig(host)
	if err != nil {
		return fmt.Errorf("host cluster: %w", err)
	}
	c, err := o.controller(host)
	if err != nil {
		return err
	}
	recorder, endEvents, err := o.recorder(ctx, cluster)
	if err != nil {
		return err
	}
	defer endEvents()
	c.Recorder = recorder
	made, err := controller.New(*c)
	if err != nil {
		return err
	}
	health := newHealth(made.Ready(), o.Election.LeaseDuration.Duration)
	endServing, err := health.serve(ctx, o.HealthAddress)
	if err != nil {
		return err
	}
	defer endServing()
	if !o.Election.LeaderElect {
		health.leading.Store(true)
		return made.Run(ctx)
	}
	return lead(ctx, cluster, &o.Election, health, made.Run)
}

// config of a kubeconfig file; "": that of the pod.
func (o *Options) config(file string) (*rest.Config, error) {
	load := rest.InClusterConfig
	if file != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", file) }
	}
	c, err := load()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("--kubeconfig is empty, and this is not a pod: name the kubeconfig of the host cluster (the command infra-apiserver dev has a controller of its own)")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", file, err)
	}
	c.QPS, c.Burst = o.QPS, o.Burst
	return rest.AddUserAgent(c, programName), nil
}

// controller is the configuration, with host as the server where none is named.
func (o *Options) controller(host *rest.Config) (*controller.Config, error) {
	c := &controller.Config{Server: host, Workspaces: o.Workspaces, Workers: o.Workers}
	var errs []error
	for _, f := range []struct {
		file string
		to   **rest.Config
	}{{o.ServerKubeconfig, &c.Server}, {o.ContractsKubeconfig, &c.Contracts}} {
		if f.file == "" {
			continue
		}
		var err error
		*f.to, err = o.config(f.file)
		errs = append(errs, err)
	}
	if o.KCPKubeconfig != "" {
		var err error
		if c.KCP, err = export.Load(o.KCPKubeconfig, o.KCPExport); err != nil {
			errs = append(errs, fmt.Errorf("--kcp-kubeconfig: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

// recorder of Events; nil: none are wanted.
func (o *Options) recorder(ctx context.Context, cluster kubernetes.Interface) (recorder events.EventRecorder, end func(), err error) {
	if !o.Events {
		return nil, func() {}, nil
	}
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: cluster.EventsV1()})
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		b.Shutdown()
		return nil, nil, fmt.Errorf("events: %w", err)
	}
	return b.NewRecorder(scheme.Scheme, programName), b.Shutdown, nil
}
