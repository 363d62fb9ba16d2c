package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testproxy"
)

// Plane is a running control plane.
type Plane struct {
	// Etcd, APIServer and ControllerManager are its processes.
	Etcd, APIServer, ControllerManager *Process
	// Replicas of infra-apiserver.
	Replicas []*Replica
	// Balancer is in front of them.
	Balancer *Balancer
	// Controllers of the plane, and the way by which all of them reach kube-apiserver.
	Controllers    []*Controller
	ControllerLane *Lane
	// PDS is the reference PDS, and Proxy what the server takes for it.
	PDS   *testpds.Server
	Proxy *testproxy.Proxy
	// Repo is the account's repository, past the server and the proxy.
	Repo *atproto.Client

	options    Options
	accounts   map[string]*Account
	dir        string
	root       string // of the module
	net        network
	claim      io.Closer // of net; nil: there is none yet
	pki        *pki
	admin      Pair
	frontProxy Pair // kube-apiserver's, for calls to us
	clients    *Clients
	slice      slice
	spawner    *spawner
	started    []*Process
	mu         sync.Mutex // guards started
	loops      sync.WaitGroup
	running    context.Context //nolint:containedctx // of the loops: it ends with the plane
	end        context.CancelFunc
}

// Start starts a plane. What it started before an error has ended when it returns.
func Start(ctx context.Context, o Options) (_ *Plane, err error) {
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	p := &Plane{options: o, spawner: newSpawner()}
	p.running, p.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	if err := p.prepare(); err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(p.startPDS)
	g.Go(func() error {
		if err := p.startEtcd(gctx); err != nil {
			return err
		}
		if err := p.startAPIServer(gctx); err != nil {
			return err
		}
		return p.account(gctx)
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := p.startReplicas(ctx); err != nil {
		return nil, err
	}
	if err := p.register(ctx); err != nil {
		return nil, err
	}
	if err := p.startControllers(ctx); err != nil {
		return nil, err
	}
	g, gctx = errgroup.WithContext(ctx)
	if !o.NoControllerManager {
		g.Go(func() error { return p.startControllerManager(gctx) })
	}
	if !o.NoRepo {
		g.Go(func() error { return p.repo(gctx) })
	}
	return p, g.Wait()
}

// prepare makes the directory with everything that the programs read.
func (p *Plane) prepare() error {
	var err error
	if p.root, err = testkubectl.ModuleRoot(); err != nil {
		return err
	}
	programs := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "infra-apiserver"}
	if p.options.Controllers > 0 {
		programs = append(programs, "infra-controller")
	}
	for _, name := range programs {
		if _, err := os.Stat(p.binary(name)); err != nil {
			return fmt.Errorf("%w: run `make e2e`, which builds it", err)
		}
	}
	if p.dir, err = os.MkdirTemp("", "infra-e2e-"); err != nil {
		return err
	}
	if err := os.Mkdir(p.file("pki"), 0o700); err != nil {
		return err
	}
	for name, content := range p.options.Files {
		if err := os.MkdirAll(filepath.Dir(p.file(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(p.file(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if p.net, p.claim, err = newNetwork(); err != nil {
		return err
	}
	if p.pki, err = newPKI(); err != nil {
		return err
	}
	if err := p.pki.write(p.file("pki"), p.net); err != nil {
		return err
	}
	return p.identities()
}

// identities makes the kubeconfigs, and the admin's clients.
func (p *Plane) identities() error {
	for name, user := range map[string]*Pair{"admin": &p.admin, "front-proxy": &p.frontProxy, "kcm": {}} {
		var err error
		if user.Cert, err = os.ReadFile(p.pem(name + ".crt")); err != nil {
			return err
		}
		if user.Key, err = os.ReadFile(p.pem(name + ".key")); err != nil {
			return err
		}
		if err := writeKubeconfig(p.file(name+".kubeconfig"), p.config(*user)); err != nil {
			return err
		}
	}
	var err error
	p.clients, err = newClients(p.Config())
	return err
}

// startPDS starts the reference PDS with the proxy in front of it.
func (p *Plane) startPDS() error {
	var err error
	names := append([]string{ownerName}, p.options.Accounts...)
	if p.PDS, err = testpds.OpenReference(testpds.Options{DataDir: p.file("pds"), Accounts: names}); err != nil {
		return fmt.Errorf("reference PDS: %w", err)
	}
	p.accounts = p.PDS.Clients()
	if p.Proxy, err = testproxy.New(p.PDS.URL); err != nil {
		return err
	}
	a := p.owner()
	p.Repo, err = atproto.Login(context.Background(), p.PDS.URL, atproto.Credentials{Identifier: a.DID, Password: a.Password},
		atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	return err
}

// owner is the account of the default AtprotoRepo.
func (p *Plane) owner() *Account { return p.accounts[ownerName] }

// startReplicas starts them with the balancer in front.
func (p *Plane) startReplicas(ctx context.Context) error {
	probe, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: p.pki.serving.PEM, ServerName: ServerName}})
	if err != nil {
		return err
	}
	var addrs []string
	for i := range p.options.Replicas {
		r := &Replica{Name: fmt.Sprintf("infra-apiserver-%d", i), Addr: p.net.addr(replicaHost+i, replicaPort), plane: p, index: i, probe: probe}
		p.Replicas = append(p.Replicas, r)
		addrs = append(addrs, r.Addr)
	}
	if p.Balancer, err = newBalancer(p.net.addr(serviceHost, servicePort), addrs); err != nil {
		return err
	}
	loops := p.running
	for _, r := range p.Replicas {
		p.loops.Go(func() { r.watchReadiness(loops) })
	}
	p.loops.Go(func() {
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			select {
			case <-loops.Done():
				return
			case <-tick.C:
				p.syncSlice(loops)
			}
		}
	})
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range p.Replicas {
		g.Go(func() error { return r.start(ctx) })
	}
	return g.Wait()
}

// Stop ends everything, at once: how a replica ends in good order, Replica.Stop
// tests. An error says what did not end.
func (p *Plane) Stop() error {
	var errs []error
	p.end()
	p.loops.Wait()
	if p.ControllerLane != nil {
		p.ControllerLane.Cut()
	}
	if p.Balancer != nil {
		p.Balancer.close()
	}
	p.mu.Lock()
	for _, proc := range p.started {
		proc.kill()
	}
	p.mu.Unlock()
	p.spawner.close()
	if p.Proxy != nil {
		errs = append(errs, p.Proxy.Close())
	}
	if p.PDS != nil {
		p.PDS.Stop()
	}
	if p.claim != nil {
		errs = append(errs, p.claim.Close())
	}
	http.DefaultClient.CloseIdleConnections()
	return errors.Join(errs...)
}

// Dir of the plane, with the logs.
func (p *Plane) Dir() string { return p.dir }

func (p *Plane) start(name, binary string, args ...string) (*Process, error) {
	proc, err := p.spawner.start(name, p.file(name+".log"), p.binary(binary), args)
	if err == nil {
		p.mu.Lock()
		p.started = append(p.started, proc)
		p.mu.Unlock()
	}
	return proc, err
}

// file below the plane's directory.
func (p *Plane) file(name string) string { return filepath.Join(p.dir, name) }

// pem is a file of the PKI.
func (p *Plane) pem(name string) string { return filepath.Join(p.dir, "pki", name) }

func (p *Plane) binary(name string) string { return filepath.Join(p.root, "bin", name) }
