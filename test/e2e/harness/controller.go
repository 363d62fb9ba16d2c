package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ControllerAccount is the service account of controllers.
const ControllerAccount = "infra-controller"

// restartAfter is how long a controller that has ended by itself stays away.
const restartAfter = time.Second

// Controller is one infra-controller of the plane. When it ends by itself it is started
// again, as a pod is. One test at a time may kill it.
type Controller struct {
	// Name is infra-controller-0, …-1: that of its log too.
	Name string

	plane *Plane

	mu      sync.Mutex // guards what follows
	process *Process   // nil: it isn't there
	mark    int        // where its log stood when it was started
	down    bool       // it was killed, and stays away
}

// controllerFlags are what a pod of the Deployment has, with a Lease that is free sooner
// when its holder is killed.
func (p *Plane) controllerFlags() []string {
	return append([]string{
		"--kubeconfig=" + p.file("controller.kubeconfig"), "--leader-elect-resource-namespace=" + Namespace,
		"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms",
	}, p.expand(p.options.ControllerFlags)...)
}

// startControllers makes their account's kubeconfig, by way of ControllerLane, and
// starts them. Nobody waits until one leads.
func (p *Plane) startControllers(ctx context.Context) error {
	if p.options.Controllers == 0 {
		return nil
	}
	p.ControllerLane = newLane(p.net.addr(controllerLaneHost, apiServerPort), p.URL())
	if err := p.ControllerLane.open(); err != nil {
		return err
	}
	token, err := p.token(ctx, ControllerAccount)
	if err != nil {
		return err
	}
	c := p.Anonymous()
	c.Host, c.ServerName, c.BearerTokenFile = "https://"+p.ControllerLane.Addr, "kubernetes.default.svc", token
	if err := writeKubeconfig(p.file("controller.kubeconfig"), c); err != nil {
		return err
	}
	for i := range p.options.Controllers {
		c := &Controller{Name: fmt.Sprintf("infra-controller-%d", i), plane: p}
		p.Controllers = append(p.Controllers, c)
		p.loops.Go(func() { c.keep(p.running) })
	}
	return nil
}

// token writes one of a service account to a file, and returns its path.
func (p *Plane) token(ctx context.Context, account string) (string, error) {
	day := int64(24 * 60 * 60)
	token, err := p.clients.Core.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", account, err)
	}
	file := p.file(account + ".token")
	return file, os.WriteFile(file, []byte(token.Status.Token), 0o600)
}

// keep is the kubelet: it starts what has ended.
func (c *Controller) keep(ctx context.Context) {
	var ended time.Time
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if err := c.look(&ended); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look starts it where it should be there and isn't.
func (c *Controller) look(ended *time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		select {
		case <-c.process.Done():
			c.process, *ended = nil, time.Now()
		default:
			return nil
		}
	}
	if c.down || time.Since(*ended) < restartAfter {
		return nil
	}
	log, err := os.ReadFile(c.plane.file(c.Name + ".log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.mark = len(log)
	c.process, err = c.plane.start(c.Name, "infra-controller", c.plane.controllerFlags()...)
	return err
}

// Kill ends it without warning. It stays away until Start.
func (c *Controller) Kill(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down = true; c.process != nil {
		c.process.kill()
		c.process = nil
	}
}

// Start lets it come back.
func (c *Controller) Start(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

// leads says whether it is there and has won the election since it was started: who
// loses it ends.
func (c *Controller) leads(t testing.TB) bool {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return false
	}
	select {
	case <-c.process.Done():
		return false
	default:
		return strings.Contains(strings.ToLower(c.plane.Log(t, c.Name)[c.mark:]), "successfully acquired lease")
	}
}

// Leader waits for the controller that acts.
func (p *Plane) Leader(t testing.TB) *Controller {
	t.Helper()
	var leader *Controller
	Eventually(t, func(context.Context) error {
		for _, c := range p.Controllers {
			if c.leads(t) {
				leader = c
				return nil
			}
		}
		return errors.New("no controller leads")
	})
	return leader
}
