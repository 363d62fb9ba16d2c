package export

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultExport is the name of the APIExport where nobody says otherwise.
const DefaultExport = "computecontracts"

// Client of one APIExport, for all shards over the same connections. It is safe for
// concurrent use.
type Client struct {
	export string
	// host is the URL of the workspace that has the export, without a slash at its end.
	host string
	// provider reaches that workspace, views the virtual workspaces.
	provider, views *http.Client
}

// New makes a client of the APIExport of a name in the workspace that the config leads
// to. It asks nothing yet. What is an error is an error of the config.
func New(config *rest.Config, export string) (*Client, error) {
	if msgs := validation.IsDNS1123Subdomain(export); len(msgs) > 0 {
		return nil, fmt.Errorf("APIExport %q: %s", export, msgs[0])
	}
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("kcp: %w", err)
	}
	c := &Client{export: export, host: strings.TrimRight(u.String(), "/")}
	if c.provider, err = clientOf(config); err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		c.views = c.provider
		return c, nil
	}
	// The name is that of the config's own server. A shard has another.
	config = rest.CopyConfig(config)
	config.ServerName = ""
	c.views, err = clientOf(config)
	return c, err
}

// Load is New with a kubeconfig file whose current context is the workspace that has
// the export.
func Load(kubeconfig, export string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", kubeconfig, err)
	}
	return New(config, export)
}

// Export is the name of the APIExport.
func (c *Client) Export() string { return c.export }

// CloseIdle ends the connections that nobody uses.
func (c *Client) CloseIdle() {
	c.provider.CloseIdleConnections()
	c.views.CloseIdleConnections()
}

// clientOf a config. It follows no redirect: what it sends is for the server that it
// was told of alone.
func clientOf(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	made, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kcp: %w", err)
	}
	return &http.Client{Transport: made.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errRedirect
	}}, nil
}

var errRedirect = errors.New("it answered with a redirect, which is not followed")
