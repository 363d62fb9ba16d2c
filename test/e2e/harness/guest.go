package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

// guestHost is where the addresses of guests begin.
const guestHost = 100

var guests atomic.Int32

// Guest is an infra-apiserver beside the plane's replicas: its address, its part of
// etcd, its identity and its rights are its own, and no Service leads to it. So a
// test may do to it what it likes.
type Guest struct {
	// Name is that of its log too.
	Name string
	// Addr is its address, HOST:PORT.
	Addr string
	// Process of the guest.
	Process *Process
	// MayFail says that a test ends it in another way than by SIGTERM, once.
	MayFail bool

	probe *http.Client
}

// GuestOptions say in what a guest is not as a replica.
type GuestOptions struct {
	// Account is its service account in Namespace; "": the replicas'.
	Account string
	// Etcd and KubeAPIServer are what the guest takes for them, as URLs.
	Etcd, KubeAPIServer string
	// Prefix in etcd; "": one of its own.
	Prefix string
	// Flags follow on the command line. Without --tls-cert-file or
	// --serving-cert-secret among them, it serves with the replicas' certificate.
	Flags []string
	// OwnCertificate says that Flags say what it serves with.
	OwnCertificate bool
}

// Guest starts one and waits for nothing. At the test's end it is told to end, and
// has to do so cleanly.
func (p *Plane) Guest(t testing.TB, o GuestOptions) *Guest {
	t.Helper()
	n := int(guests.Add(1))
	g := &Guest{
		Name: fmt.Sprintf("guest-%d", n), Addr: p.net.addr(guestHost+n, replicaPort),
		probe: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}},
	}
	if o.Prefix == "" {
		o.Prefix = "/registry/" + g.Name
	}
	if o.Etcd == "" {
		o.Etcd = p.EtcdURL()
	}
	flags := []string{
		"serve", "--etcd-servers=" + o.Etcd, "--etcd-prefix=" + o.Prefix, "--kubeconfig=" + p.accountKubeconfig(t, o),
		"--bind-address=" + p.net.host(guestHost+n), fmt.Sprintf("--secure-port=%d", replicaPort),
		"--plc-url=" + p.PDS.PLCURL, "--allow-private-addresses",
		"--shutdown-delay-duration=0",
	}
	if !o.OwnCertificate {
		flags = append(flags, "--tls-cert-file="+p.pem("serving.crt"), "--tls-private-key-file="+p.pem("serving.key"))
	}
	var err error
	if g.Process, err = p.start(g.Name, "infra-apiserver", append(flags, p.expand(o.Flags)...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Process.stop(); err != nil {
			t.Error(err)
		} else if err := g.Process.Err(); err != nil && !g.MayFail {
			t.Errorf("%s: %v; the end of its log:\n%s", g.Name, err, tail(g.Process.log, 20))
		}
	})
	return g
}

// EtcdURL is where etcd is.
func (p *Plane) EtcdURL() string { return "http://" + p.net.addr(etcdHost, etcdPort) }

// Server runs a command of infra-apiserver to its end, with the admin's kubeconfig in
// the environment, and returns what it printed.
func (p *Plane) Server(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.binary("infra-apiserver"), append(args, "--kubeconfig="+p.file("admin.kubeconfig"))...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Shell runs a line as a person would who has kubectl and is the admin.
func (p *Plane) Shell(t testing.TB, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", line)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(p.root, "bin")+":"+os.Getenv("PATH"), "KUBECONFIG="+p.file("admin.kubeconfig"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// Manifest is the path of a file below the project's artifacts/deploy.
func (p *Plane) Manifest(name string) string {
	return filepath.Join(p.root, "artifacts", "deploy", filepath.FromSlash(name))
}

// ServiceAccount makes one in Namespace. It has no rights but what everybody has.
func (p *Plane) ServiceAccount(t testing.TB, name string) {
	t.Helper()
	accounts := p.clients.Core.CoreV1().ServiceAccounts(Namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := accounts.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// accountKubeconfig writes a kubeconfig with a token, as a pod has.
func (p *Plane) accountKubeconfig(t testing.TB, o GuestOptions) string {
	t.Helper()
	c := p.Anonymous()
	if o.KubeAPIServer != "" {
		c.Host, c.ServerName = o.KubeAPIServer, "kubernetes.default.svc"
	}
	account := o.Account
	if account == "" {
		account = ServiceAccount
	}
	hour := int64(60 * 60)
	token, err := p.clients.Core.CoreV1().ServiceAccounts(Namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.BearerTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.BearerTokenFile, []byte(token.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return p.Kubeconfig(t, c)
}

// Get asks a path of the guest without saying who asks. An error means that nobody
// answered.
func (g *Guest) Get(ctx context.Context, path string) (status int, body string, err error) {
	a, err := testhttp.Get(ctx, g.probe, "https://"+g.Addr+path)
	return a.Status, string(a.Body), err
}

// Ready returns nil when the guest says that it is, and else what it says.
func (g *Guest) Ready(ctx context.Context) error {
	select {
	case <-g.Process.Done():
		return fatal{fmt.Errorf("%s ended: %w\n%s", g.Name, g.Process.Err(), tail(g.Process.log, 20))}
	default:
	}
	status, body, err := g.Get(ctx, "/readyz?verbose")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("readyz of %s: %d %s", g.Name, status, body)
	}
	return err
}

// Direct is a config of the same user that goes to the guest. It doesn't look at the
// guest's certificate.
func (g *Guest) Direct(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = "https://" + g.Addr
	c.TLSClientConfig.CAData, c.Insecure = nil, true
	return c
}

// Certificate is what the guest serves to a new connection now.
func (g *Guest) Certificate(ctx context.Context) (*x509.Certificate, error) {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: ServerName}}
	conn, err := d.DialContext(ctx, "tcp4", g.Addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the handshake was all
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}
