package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	infraserver "socialweb.computer/infra-apiserver/pkg/apiserver"
)

// Run starts everything, tells its steps, and serves until ctx ends; it then
// ends everything in the reverse order and returns nil. An error means that a
// part didn't start, or ended by itself.
func Run(ctx context.Context, o *Options) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	steps := NewSteps(o.Out, o.Clock)

	lock, err := AcquireLock(o.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()

	// Taken first: a port that isn't free is the likeliest fault, and should not
	// cost the start of everything else.
	l, err := listen(ctx, o.Port, "--secure-port")
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it in most cases
	if o.PDS == "" {
		// The embedded PDS listens itself, later; etcd need not start for nothing.
		free, err := listen(ctx, o.PDSPort, "--pds-port")
		if err != nil {
			return err
		}
		if err := free.Close(); err != nil {
			return fmt.Errorf("--pds-port %d: %w", o.PDSPort, err)
		}
	}

	var etcd *Etcd
	if err := steps.Do(ctx, "etcd", func(ctx context.Context) (string, error) {
		etcd, err = StartEtcd(ctx, filepath.Join(o.DataDir, "etcd"))
		if err != nil {
			return "", err
		}
		return etcd.Endpoint(), nil
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, etcd.Close()) }()

	var p *pds
	if err := steps.Do(ctx, "PDS", func(ctx context.Context) (string, error) {
		p, err = openPDS(ctx, o)
		if err != nil {
			return "", err
		}
		return p.URL + "  " + p.DID, p.write(o.DataDir)
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	return serve(ctx, o, steps, etcd, p, l)
}

// serve runs the API server over what it needs.
func serve(ctx context.Context, o *Options, steps *Steps, etcd *Etcd, p *pds, l net.Listener) (err error) {
	info := Info{
		Server:     "https://" + l.Addr().String(),
		Kubeconfig: filepath.Join(o.DataDir, "admin.kubeconfig"),
		PDS:        p.PDSInfo,
		Etcd:       etcd.Endpoint(),
	}
	var pki PKI
	if err := steps.Do(ctx, "certificates", func(context.Context) (string, error) {
		var err error
		if pki, err = EnsurePKI(filepath.Join(o.DataDir, "pki"), o.Clock); err != nil {
			return "", err
		}
		return info.Kubeconfig, WriteKubeconfig(info.Kubeconfig, info.Server, pki)
	}); err != nil {
		return err
	}

	// The server's own context: it must end before etcd and the PDS do, also when
	// a later step fails.
	serverCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	server, err := startServer(ctx, serverCtx, steps, ended, func() (*infraserver.Server, error) {
		return newServer(etcd, l, pki, p, o)
	}, info.Server, p)
	endController := func() error { return nil }
	if err == nil && o.Controller && o.ComputeContracts {
		endController, err = startController(ctx, steps, server.GenericAPIServer.LoopbackClientConfig, o.Deadlines)
	}
	if err != nil {
		stop()
		for range ended { // wait until the server is gone
		}
		return err
	}
	defer stop()
	defer func() { err = errors.Join(err, endController()) }()

	steps.Done("kubectl --kubeconfig " + info.Kubeconfig + " get infras")
	if o.Ready != nil {
		o.Ready(info)
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	if ctx.Err() == nil {
		return errors.New("API server: ended by itself")
	}
	return nil
}

// startServer runs the server on serverCtx until ended is closed, and returns
// when it is ready and has its AtprotoRepo.
func startServer(ctx, serverCtx context.Context, steps *Steps, ended chan error, newServer func() (*infraserver.Server, error), url string, p *pds) (*infraserver.Server, error) {
	var s *infraserver.Server
	if err := steps.Do(ctx, "API server", func(ctx context.Context) (string, error) {
		var err error
		if s, err = newServer(); err != nil {
			close(ended)
			return "", err
		}
		go func() {
			defer close(ended)
			ended <- s.Run(serverCtx)
		}()
		return url, waitReady(ctx, s.GenericAPIServer.LoopbackClientConfig, ended)
	}); err != nil {
		return nil, err
	}
	return s, steps.Do(ctx, "AtprotoRepo "+repoName, func(ctx context.Context) (string, error) {
		if err := seed(ctx, s.GenericAPIServer.LoopbackClientConfig, p); err != nil {
			return "", err
		}
		return settled(ctx, s.GenericAPIServer.LoopbackClientConfig)
	})
}
