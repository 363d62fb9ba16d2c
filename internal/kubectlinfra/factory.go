package kubectlinfra

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// factory makes clients as the command line says.
type factory struct {
	kubeconfig          string
	contractsKubeconfig string
	ephemeral           bool
	overrides           clientcmd.ConfigOverrides
	// warnings is where the server's warnings go.
	warnings io.Writer
}

func newFactory(fs *pflag.FlagSet, warnings io.Writer) *factory {
	f := &factory{warnings: warnings}
	fs.StringVar(&f.kubeconfig, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	fs.StringVar(&f.contractsKubeconfig, "contracts-kubeconfig", "",
		"Path to the kubeconfig file of the cluster that serves the ComputeContracts, where it is another one.")
	fs.BoolVar(&f.ephemeral, "ephemeral", false, "A plain NAME is an EphemeralInfra.")
	clientcmd.BindOverrideFlags(&f.overrides, fs, clientcmd.RecommendedConfigOverrideFlags(""))
	return f
}

// client of the cluster that the command line names.
func (f *factory) client() (*client, error) {
	return f.connect(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &f.overrides))
}

// open is the client, and the deployment that an argument of the command line names.
func (f *factory) open(arg string) (c *client, t target, err error) {
	if t, err = f.target(arg, infras, ephemeralInfras); err == nil {
		c, err = f.client()
	}
	return c, t, err
}

// rules say where the kubeconfig is, as of kubectl.
func (f *factory) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// contracts is the client of the cluster that serves the ComputeContracts.
func (f *factory) contracts(main *client) (*client, error) {
	if f.contractsKubeconfig == "" {
		return main, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.contractsKubeconfig}
	c, err := f.connect(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil))
	if err != nil {
		return nil, fmt.Errorf("--contracts-kubeconfig: %w", err)
	}
	return c, nil
}

func (f *factory) connect(loading clientcmd.ClientConfig) (*client, error) {
	config, err := loading.ClientConfig()
	if err != nil {
		return nil, err
	}
	// kubectl's own limits.
	config.QPS, config.Burst = 50, 300
	config.WarningHandler = rest.NewWarningWriter(f.warnings, rest.WarningWriterOptions{Deduplicate: true})
	api, err := v1alpha1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &client{api: api}, nil
}
