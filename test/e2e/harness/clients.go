package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// Clients of one config.
type Clients struct {
	// Infra are ours, Core those of Kubernetes' own kinds, Dynamic of any.
	Infra   versioned.Interface
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
}

// NewClients makes the clients of a config.
func NewClients(t testing.TB, c *rest.Config) *Clients {
	t.Helper()
	clients, err := newClients(c)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func newClients(c *rest.Config) (*Clients, error) {
	var out Clients
	var err error
	if out.Infra, err = versioned.NewForConfig(c); err != nil {
		return nil, err
	}
	if out.Core, err = kubernetes.NewForConfig(c); err != nil {
		return nil, err
	}
	out.Dynamic, err = dynamic.NewForConfig(c)
	return &out, err
}

// URL of kube-apiserver.
func (p *Plane) URL() string { return "https://" + p.net.addr(apiServerHost, apiServerPort) }

// Config of the admin (system:masters), through the aggregator. Clients of it have
// no limit of their own.
func (p *Plane) Config() *rest.Config { return p.config(p.admin) }

// Anonymous is a config without an identity.
func (p *Plane) Anonymous() *rest.Config { return p.config(Pair{}) }

// ConfigFor is the config of a user with groups, who has a client certificate of
// the cluster.
func (p *Plane) ConfigFor(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	pair, err := p.pki.cluster.Client(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return p.config(pair)
}

// ConfigWith is a config with any client certificate.
func (p *Plane) ConfigWith(client Pair) *rest.Config { return p.config(client) }

func (p *Plane) config(client Pair) *rest.Config {
	return &rest.Config{
		Host:            p.URL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: p.pki.cluster.PEM, CertData: client.Cert, KeyData: client.Key},
		QPS:             -1, Burst: -1,
	}
}

// Admin are the admin's clients through the aggregator.
func (p *Plane) Admin() *Clients { return p.clients }

// FrontProxy issues a certificate of the front proxy's CA for a name. Only
// kube-apiserver has a right one, "front-proxy-client".
func (p *Plane) FrontProxy(t testing.TB, name string) Pair {
	t.Helper()
	pair, err := p.pki.frontProxy.Client(name)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// ServingAuthority signs what the replicas serve with; the APIService has it as its
// caBundle.
func (p *Plane) ServingAuthority() *Authority { return p.pki.serving }

// FrontProxyAuthority signs the client certificate of kube-apiserver.
func (p *Plane) FrontProxyAuthority() *Authority { return p.pki.frontProxy }

// Kubectl is the real kubectl, as the admin.
func (p *Plane) Kubectl(t testing.TB) *testkubectl.Kubectl {
	t.Helper()
	return testkubectl.New(t, p.file("admin.kubeconfig"))
}

// KubectlAs is the real kubectl of a user with groups.
func (p *Plane) KubectlAs(t testing.TB, user string, groups ...string) *testkubectl.Kubectl {
	t.Helper()
	return testkubectl.New(t, p.Kubeconfig(t, p.ConfigFor(t, user, groups...)))
}

// Kubeconfig writes a config to a file of the test.
func (p *Plane) Kubeconfig(t testing.TB, c *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(file, c); err != nil {
		t.Fatal(err)
	}
	return file
}

func writeKubeconfig(file string, c *rest.Config) error {
	k := api.NewConfig()
	k.Clusters["c"] = &api.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, TLSServerName: c.ServerName}
	k.AuthInfos["u"] = &api.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, TokenFile: c.BearerTokenFile}
	k.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*k, file); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return os.Chmod(file, 0o600)
}
