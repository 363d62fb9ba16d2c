package kcp

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

const (
	// prefix of the door that kcp uses.
	prefix = "/services/infra"
	// trustedIn is the workspace whose word counts for the records of env.trusted.
	trustedIn = "executes"
	// accounts that the PDS has for the workspaces of all tests.
	accounts = 44
)

// env is a server with the door for shards open, and the reference PDS.
type env struct {
	dev   *testdev.Dev
	data  string // its directory
	pds   *testpds.Server
	etcd  *clientv3.Client
	ca    authority // of the shards' certificates
	shard *shard

	trusted  *testpds.Client // its records may be executed on the word of trustedIn
	accounts int64
	taken    atomic.Int64 // of them
}

// start returns the server of all tests.
func start(t testing.TB) *env {
	t.Helper()
	return shared.env()
}

// slots of tests that run beside each other. There is one PDS: with more of them, an
// answer of it would take longer on a slow machine than the server waits.
var slots = make(chan struct{}, 8)

// beside lets a test run beside others.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
}

// site is where a server of a test is. The zero value but for accounts: anywhere, with
// authorities of its own.
type site struct {
	data     string // directory; "": one of the test
	shardCA  string // file; "": of an authority that the test has
	port     int    // 0: any
	accounts int    // of the PDS
}

func newEnv(t testing.TB) *env { return newEnvAt(t, site{accounts: accounts}) }

func newEnvAt(t testing.TB, at site) *env {
	e := &env{data: at.data, ca: newAuthority(t, "kcp-client-ca"), accounts: int64(at.accounts)}
	if e.data == "" {
		e.data = t.TempDir()
	}
	o := testpds.Options{DataDir: t.TempDir()}
	for i := range at.accounts {
		o.Accounts = append(o.Accounts, fmt.Sprintf("a%02d", i))
	}
	e.pds = testpds.StartReference(t, o)
	kcp := apiserver.NewKCPOptions()
	if kcp.ShardClientCAFile = at.shardCA; kcp.ShardClientCAFile == "" {
		kcp.ShardClientCAFile = e.ca.write(t)
	}
	trusted := e.pds.Clients()["a01"]
	kcp.ExecuteDIDs = []string{trustedIn + "/" + trusted.DID}
	e.trusted = trusted
	e.dev = testdev.Start(t, testdev.Options{DataDir: e.data, PDS: e.pds, Workspaces: true, KCP: kcp, Port: at.port})
	e.taken.Add(2) // the server's own, and the trusted one
	e.shard = e.connect(t, e.ca.client(t, "system:kcp:shard:root"))
	var err error
	if e.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{e.dev.Etcd}, DialTimeout: patience}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.etcd.Close() })
	return e
}

// account is one that nobody has used yet.
func (e *env) account(t testing.TB) *testpds.Client {
	t.Helper()
	i := e.taken.Add(1) - 1
	if i >= e.accounts {
		t.Fatalf("all %d accounts are taken", e.accounts)
	}
	a := e.pds.Clients()[fmt.Sprintf("a%02d", i)]
	keepSecret(a.Password)
	return a
}

// patience is how long a test waits for what must come at some time.
const patience = testwait.Patience

// waitFor waits until ok returns nil.
func waitFor(t testing.TB, what string, ok func() error) {
	t.Helper()
	testwait.Until(t, what, ok)
}
