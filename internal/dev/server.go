package dev

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	authorizerunion "k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"

	infraserver "socialweb.computer/infra-apiserver/pkg/apiserver"
)

const (
	// drainTimeout is how long requests that are being answered may take after
	// the server was told to end.
	drainTimeout = 2 * time.Second
	// readyPoll is how often a starting server is asked whether it is ready.
	readyPoll = 20 * time.Millisecond
)

// healthPaths are open to everybody who reaches the port: they say nothing but
// ok or not.
var healthPaths = []string{"/livez", "/readyz", "/healthz"}

// newServer makes the API server of dev: its own etcd, its own certificates, no
// host cluster to ask.
func newServer(etcd *Etcd, l net.Listener, pki PKI, p *pds, o *Options) (*infraserver.Server, error) {
	so := infraserver.NewOptions()
	r := so.Recommended
	r.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
	so.Repos.Etcd = etcd.Client
	r.SecureServing.Listener = l
	r.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	r.SecureServing.BindPort = l.Addr().(*net.TCPAddr).Port
	r.SecureServing.ServerCert.CertKey.CertFile = pki.ServerCert
	r.SecureServing.ServerCert.CertKey.KeyFile = pki.ServerKey
	// These ask the host cluster, and dev has none.
	r.Authentication, r.Authorization, r.CoreAPI, r.Admission = nil, nil, nil, nil
	r.Features.EnablePriorityAndFairness = false
	so.Workspaces, so.KCP, so.ComputeContracts = o.Workspaces, o.KCP, o.ComputeContracts
	so.Repos.CredentialsDir = credentialsDir(o.DataDir)
	so.Repos.AllowPrivate = true
	so.Repos.LookRate = lookRate(o.PDS)
	so.Repos.PLCURL, so.Repos.Identities, so.Repos.Keys = p.plc, p.ids, p.keys
	so.Modify = func(c *genericapiserver.RecommendedConfig) error {
		c.ShutdownWatchTerminationGracePeriod = drainTimeout
		return authenticateBy(pki, &c.Config)
	}
	s, err := so.NewServer()
	if err != nil {
		return nil, err
	}
	s.GenericAPIServer.ShutdownTimeout = drainTimeout
	return s, nil
}

// authenticateBy lets in who has a certificate of our own authority, and lets
// system:masters do everything.
func authenticateBy(pki PKI, c *genericapiserver.Config) error {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", pki.CACert)
	if err != nil {
		return fmt.Errorf("client certificates: %w", err)
	}
	if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
		return fmt.Errorf("client certificates: %w", err)
	}
	open := make([]apiserver.AnonymousAuthCondition, 0, len(healthPaths))
	for _, p := range healthPaths {
		open = append(open, apiserver.AnonymousAuthCondition{Path: p})
	}
	c.Authentication.Authenticator = union.New(
		group.NewAuthenticatedGroupAdder(x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion)),
		anonymous.NewAuthenticator(open),
	)
	health, err := path.NewAuthorizer(healthPaths)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	c.Authorization.Authorizer, err = authorizerunion.New(
		authorizerunion.NamedAuthorizer{AuthorizerName: "admins", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		authorizerunion.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
	)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	return nil
}

// waitReady returns when the server says that it is ready, or when ctx or the
// server ended.
func waitReady(ctx context.Context, c *rest.Config, ended <-chan error) error {
	t, err := rest.TransportFor(c)
	if err != nil {
		return fmt.Errorf("asking for readiness: %w", err)
	}
	client := &http.Client{Transport: t, Timeout: time.Second}
	var last error
	err = wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the server ended: %w", err)
		default:
		}
		last = getReady(ctx, client, c.Host)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w (%w)", err, last)
	}
	return err
}

func getReady(ctx context.Context, client *http.Client, host string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only its status counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", resp.Status)
	}
	return nil
}

// ownLookRate is for a PDS on this machine: nobody else's budget is spent.
const ownLookRate = 10

// lookRate of a PDS; "" is the embedded one, which announces at once.
func lookRate(pds string) float64 {
	if pds != "" && isLoopback(pds) {
		return ownLookRate
	}
	return 0
}
