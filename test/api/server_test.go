package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/dev"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	v1alpha1client "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// server is a running API server.
type server struct {
	prefix string // in the shared etcd
	plc    string
	creds  string // directory
	config *rest.Config
	http   *http.Client
	client v1alpha1client.SocialwebV1alpha1Interface
	stop   func()

	// configure, where set, changes the options before each start.
	configure func(*apiserver.Options)
}

var servers atomic.Int64

// newServer starts a server with nothing in it. It ends with the test.
func newServer(t *testing.T, plc string) *server {
	t.Helper()
	return newServerWith(t, plc, nil)
}

// newServerWith is newServer with other options.
func newServerWith(t *testing.T, plc string, configure func(*apiserver.Options)) *server {
	t.Helper()
	s := &server{prefix: fmt.Sprintf("/registry/test-%d", servers.Add(1)), plc: plc, creds: t.TempDir(), configure: configure}
	s.start(t)
	return s
}

// twin starts another replica of s.
func (s *server) twin(t *testing.T) *server {
	t.Helper()
	r := &server{prefix: s.prefix, plc: s.plc, creds: s.creds}
	r.start(t)
	return r
}

// restart stops s and starts it on the same data. between, if any, is called
// while it is down.
func (s *server) restart(t *testing.T, between ...func()) {
	t.Helper()
	s.stop()
	for _, f := range between {
		f()
	}
	s.start(t)
}

func (s *server) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pki, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	o := apiserver.NewOptions()
	r := o.Recommended
	r.Etcd.StorageConfig.Transport.ServerList = []string{etcdEndpoint(t)}
	r.Etcd.StorageConfig.Prefix = s.prefix
	r.SecureServing.Listener, r.SecureServing.BindPort = l, l.Addr().(*net.TCPAddr).Port
	r.SecureServing.ServerCert.CertKey.CertFile, r.SecureServing.ServerCert.CertKey.KeyFile = pki.ServerCert, pki.ServerKey
	r.Authentication, r.Authorization, r.CoreAPI, r.Admission = nil, nil, nil, nil
	r.Features.EnablePriorityAndFairness = false
	o.Workspaces = true
	o.Repos.CredentialsDir, o.Repos.AllowPrivate, o.Repos.PLCURL = s.creds, true, s.plc
	o.Repos.PollInterval = time.Hour // Poll is then as good as no source at all
	o.Modify = func(c *genericapiserver.RecommendedConfig) error {
		c.Authentication.Authenticator = anonymous.NewAuthenticator(nil)
		c.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
		c.ShutdownWatchTerminationGracePeriod = 100 * time.Millisecond
		return nil
	}
	if s.configure != nil {
		s.configure(o)
	}
	srv, err := o.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	srv.GenericAPIServer.ShutdownTimeout = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Run(ctx); err != nil {
			t.Errorf("server: %v", err)
		}
	}()
	var stopped atomic.Bool
	s.stop = func() {
		if stopped.Swap(true) {
			return
		}
		cancel()
		<-done
		s.http.CloseIdleConnections()
	}
	s.connect(t, srv.GenericAPIServer.LoopbackClientConfig)
	t.Cleanup(s.stop)
	waitFor(t, "readyz", func() error {
		a := s.do(t, request{path: "/readyz?verbose"})
		if a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}

// certificates of all servers, made once.
var certificates = sync.OnceValues(func() (dev.PKI, error) {
	return dev.EnsurePKI(filepath.Join(shared.dir, "pki"), clock.RealClock{})
})

func (s *server) connect(t *testing.T, c *rest.Config) {
	t.Helper()
	s.config = rest.CopyConfig(c)
	s.config.Timeout = 0
	var err error
	if s.http, err = rest.HTTPClientFor(s.config); err != nil {
		t.Fatal(err)
	}
	clients, err := versioned.NewForConfigAndClient(s.config, s.http)
	if err != nil {
		t.Fatal(err)
	}
	s.client = clients.SocialwebV1alpha1()
}

// credential stores an account's password for the server.
func (s *server) credential(t *testing.T, workspace, name, identifier, password string) {
	t.Helper()
	dir := filepath.Join(s.creds, workspace, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"identifier": identifier, "password": password} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// etcd is a client of the shared etcd.
func etcd(t *testing.T) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdEndpoint(t)}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// patience is how long a test waits for what must come at some time.
const patience = testwait.Patience

// waitFor waits until ok returns nil.
func waitFor(t testing.TB, what string, ok func() error) {
	t.Helper()
	testwait.Until(t, what, ok)
}

// contains tells whether text holds each of words.
func contains(text string, words ...string) error {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return fmt.Errorf("%q lacks %q", text, w)
		}
	}
	return nil
}
