package apiserver

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/servingcert"
	"socialweb.computer/infra-apiserver/internal/startup"
)

const (
	// etcdProbeTimeout is what an etcd that is there needs far less than.
	etcdProbeTimeout = 3 * time.Second
	// handOver bounds how long the last probes of the wait are answered.
	handOver = 2 * time.Second
)

// Run waits until everything that the server needs is there, and serves until ctx
// ends. It ends by itself only where the options can't work.
func (o *Options) Run(ctx context.Context) error {
	o.Complete()
	if err := o.Validate(); err != nil {
		return err
	}
	host, err := o.hostCluster()
	if err != nil {
		return err
	}
	if o.rotator, err = o.newRotator(host); err != nil {
		return err
	}
	// The certificate is kept until the last connection has ended.
	var keeping sync.WaitGroup
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		keeping.Wait()
	}()
	s, err := o.start(ctx, host, func() {
		keeping.Go(func() { o.rotator.Run(keepCtx) })
	})
	if s == nil || err != nil {
		return err
	}
	return s.Run(ctx)
}

// newRotator makes what keeps the serving certificate; nil where it comes as files.
// There is something to serve at once.
func (o *Options) newRotator(host *restclient.Config) (*servingcert.Rotator, error) {
	if o.Serving.Secret == "" || host == nil {
		return nil, nil
	}
	client, err := kubernetes.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	secret := o.Serving.secret()
	c := servingcert.Config{Client: client, Namespace: secret.Namespace, Name: secret.Name, DNSNames: o.Serving.names()}
	if o.Serving.APIService != "" {
		objects, err := dynamic.NewForConfig(host)
		if err != nil {
			return nil, fmt.Errorf("serving certificate: %w", err)
		}
		c.APIServices, c.APIService = objects.Resource(servingcert.APIServices), o.Serving.APIService
	}
	r, err := servingcert.New(c)
	if err != nil {
		return nil, err
	}
	o.Recommended.SecureServing.ServerCert.GeneratedCert = r
	return r, nil
}

// start returns a server that can run, or nil where ctx ended before. It answers
// probes until then.
func (o *Options) start(ctx context.Context, host *restclient.Config, keepCertificate func()) (*Server, error) {
	serving := o.Recommended.SecureServing
	if err := o.selfSign(); err != nil {
		return nil, err
	}
	var info *genericapiserver.SecureServingInfo
	if err := serving.SecureServingOptions.ApplyTo(&info); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	l, ok := info.Listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("options: can't serve on a %T", info.Listener)
	}
	port, gate := startup.NewPort(l), startup.NewGate(clock.RealClock{})
	var err error
	if info.Listener, err = port.Turn(); err != nil {
		return nil, fmt.Errorf("port: %w", err)
	}
	end := make(chan struct{})
	served, listened, err := info.Serve(gate.Handler(Codecs), handOver, end)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s, err := o.wait(ctx, gate, host, keepCertificate)
	close(end)
	<-listened
	<-served
	if ctx.Err() != nil {
		klog.FromContext(ctx).Info("Told to end before the start", "err", err)
		return nil, l.Close()
	}
	if err != nil {
		return nil, err
	}
	if serving.Listener, err = port.Last(); err != nil {
		return nil, fmt.Errorf("port: %w", err)
	}
	return s, nil
}

// wait waits for what the server needs and makes it. What was there and went away
// again is waited for once more.
func (o *Options) wait(ctx context.Context, gate *startup.Gate, host *restclient.Config, keepCertificate func()) (*Server, error) {
	needs := []startup.Need{{Name: "etcd", Check: o.needsOfEtcd}}
	if host != nil {
		needs = append(needs, startup.Need{Name: "kube-apiserver", Check: func(ctx context.Context) error { return o.needsOfHost(ctx, host) }})
	}
	kept := o.rotator == nil
	for {
		if err := gate.Wait(ctx, needs...); err != nil {
			return nil, err
		}
		if !kept {
			// Not before: nothing may be written while something stands in the way.
			keepCertificate()
			kept = true
			needs = append(needs, startup.Need{Name: "serving-certificate", Check: func(context.Context) error { return o.rotator.Ready() }})
			continue
		}
		s, err := o.NewServer()
		if err == nil {
			return s, nil
		}
		for _, n := range needs {
			if gone := n.Check(ctx); gone != nil {
				klog.FromContext(ctx).Info("Not started, will wait again", "for", n.Name, "err", err)
				err = nil
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// needsOfEtcd returns nil once etcd answers.
func (o *Options) needsOfEtcd(ctx context.Context) error {
	c := o.Recommended.Etcd.StorageConfig
	etcd, err := newEtcdClient(c.Transport)
	if err != nil {
		return startup.PublicError("etcd can't be reached").Because(err)
	}
	defer etcd.Close() //nolint:errcheck // it was for one look
	ctx, cancel := context.WithTimeout(ctx, etcdProbeTimeout)
	defer cancel()
	if _, err := etcd.Get(ctx, c.Prefix+"/health"); err != nil {
		return startup.PublicError("etcd doesn't answer").Because(err)
	}
	return nil
}
