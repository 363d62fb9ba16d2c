package harness

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Replica is one infra-apiserver of the plane, at an address of its own. It may be
// stopped and started by one test at a time.
type Replica struct {
	// Name is infra-apiserver-0, …-1: that of its log too.
	Name string
	// Addr is its own address, HOST:PORT.
	Addr string

	plane *Plane
	index int
	probe *http.Client

	mu      sync.Mutex
	process *Process // nil: it was never started
	ending  bool     // it was told to end
}

// replicaFlags are what a pod of the Deployment has.
func (p *Plane) replicaFlags(r *Replica) []string {
	flags := []string{
		"serve", "--etcd-servers=http://" + p.net.addr(etcdHost, etcdPort),
		"--kubeconfig=" + p.file("replica.kubeconfig"),
		"--bind-address=" + p.net.host(replicaHost+r.index), fmt.Sprintf("--secure-port=%d", replicaPort),
		"--tls-cert-file=" + p.pem("serving.crt"), "--tls-private-key-file=" + p.pem("serving.key"),
		"--credentials-namespace=" + CredentialsNamespace, "--plc-url=" + p.PDS.PLCURL,
		// Everything is on loopback, and the PDS is the test's own.
		"--allow-private-addresses", "--pds-look-rate=10",
	}
	return append(flags, p.expand(p.options.ReplicaFlags)...)
}

// Process of the replica, running or not.
func (r *Replica) Process() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// Direct is a config of the same user that goes straight to the replica's port.
func (r *Replica) Direct(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = "https://" + r.Addr
	c.TLSClientConfig.CAData = r.plane.pki.serving.PEM
	c.TLSClientConfig.ServerName = ServerName
	return c
}

// Start starts it, with further flags for this time, and waits until the Service
// has it.
func (r *Replica) Start(t testing.TB, flags ...string) {
	t.Helper()
	if err := r.start(t.Context(), flags...); err != nil {
		t.Fatal(err)
	}
}

// Launch starts it and waits for nothing.
func (r *Replica) Launch(t testing.TB, flags ...string) *Process {
	t.Helper()
	p, err := r.launch(flags...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Stop ends it as a cluster ends a pod: SIGTERM, and no new connections from
// Options.EndpointDelay later on. It waits for the end, which must be clean.
func (r *Replica) Stop(t testing.TB) {
	t.Helper()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// Kill ends it without warning.
func (r *Replica) Kill(t testing.TB) {
	t.Helper()
	p := r.Process()
	if p == nil {
		return
	}
	p.kill()
	r.leave()
}

func (r *Replica) launch(flags ...string) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.plane.start(r.Name, "infra-apiserver", append(r.plane.replicaFlags(r), flags...)...)
	if err != nil {
		return nil, err
	}
	r.process, r.ending = p, false
	return p, nil
}

func (r *Replica) start(ctx context.Context, flags ...string) error {
	p, err := r.launch(flags...)
	if err != nil {
		return err
	}
	return p.await(ctx, func(ctx context.Context) error {
		if !r.plane.Balancer.isReady(r.Addr) {
			return getOK(ctx, r.probe, "https://"+r.Addr+"/readyz?verbose")
		}
		return r.knows(ctx)
	})
}

// knows says whether it takes the cluster's users, and those that the aggregator
// names, for who they are.
func (r *Replica) knows(ctx context.Context) error {
	aggregator := r.Direct(r.plane.config(r.plane.frontProxy))
	aggregator.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return asAdmin{next}
	})
	for _, c := range []*rest.Config{r.Direct(r.plane.Config()), aggregator} {
		client, err := rest.HTTPClientFor(c)
		if err != nil {
			return err
		}
		if err := getOK(ctx, client, c.Host+"/apis/socialweb.computer/v1alpha1"); err != nil {
			return err
		}
	}
	return nil
}

// asAdmin adds the headers by which the aggregator names a user.
type asAdmin struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a asAdmin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Remote-User", "admin")
	r.Header.Set("X-Remote-Group", "system:masters")
	return a.next.RoundTrip(r)
}

func (r *Replica) stop() error {
	p := r.Process()
	if p == nil {
		return nil
	}
	p.Signal(syscall.SIGTERM)
	select {
	case <-time.After(r.plane.options.EndpointDelay):
	case <-p.Done():
	}
	r.leave()
	if err := p.awaitEnd(); err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, tail(p.log, 20))
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("%s ended with %w; the end of its log:\n%s", r.Name, err, tail(p.log, 20))
	}
	return nil
}

// leave takes it out of the Service for good.
func (r *Replica) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	r.plane.ready(r, false, nil)
}

// unreadyAfter is how many probes in a row have to fail, over how long a time, and
// probeTimeout how long one may take: as the Deployment has it, whose probes are 3 s
// apart. etcd may well be slow for a while on a busy machine.
const (
	unreadyAfter = 3
	unreadyOver  = (unreadyAfter - 1) * 3 * time.Second
	probeTimeout = 5 * time.Second
)

// watchReadiness is the kubelet: it asks the replica whether it is ready, and tells
// the Service. A replica that has ended is out at once.
func (r *Replica) watchReadiness(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var first time.Time // of those that failed
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		up, err := r.probed(ctx)
		if err == nil && up {
			failed = 0
		} else if failed++; failed == 1 {
			first = time.Now()
		}
		r.mu.Lock()
		if out := !up || failed >= unreadyAfter && time.Since(first) >= unreadyOver; !r.ending && ctx.Err() == nil && (failed == 0 || out) {
			r.plane.ready(r, failed == 0, err)
		}
		r.mu.Unlock()
	}
}

// probed says whether it runs, and what it says against its being ready.
func (r *Replica) probed(ctx context.Context) (up bool, objection error) {
	p := r.Process()
	if p == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		objection = getOK(ctx, r.probe, "https://"+r.Addr+"/readyz")
	}()
	select {
	case <-p.Done():
		cancel()
		<-answered // its goroutine has ended
		return false, p.Err()
	case <-answered:
		return true, objection
	}
}
