package kcp

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

const (
	// prefix of the door that kcp uses.
	prefix = "/services/infra"
	// accounts that the PDS has for the workspaces of all tests.
	accounts = 48
)

// env is a server with the door for shards open, and the reference PDS.
type env struct {
	dev   *testdev.Dev
	data  string // its directory
	pds   *testpds.Server
	etcd  *clientv3.Client
	ca    authority // of the shards' certificates
	shard *shard
	taken atomic.Int64 // accounts
}

// start returns the server of all tests.
func start(t testing.TB) *env {
	t.Helper()
	return shared.env()
}

func newEnv(t testing.TB) *env {
	e := &env{data: t.TempDir(), ca: newAuthority(t, "kcp-client-ca")}
	o := testpds.Options{DataDir: t.TempDir()}
	for i := range accounts {
		o.Accounts = append(o.Accounts, fmt.Sprintf("a%02d", i))
	}
	e.pds = testpds.StartReference(t, o)
	kcp := apiserver.NewKCPOptions()
	kcp.ShardClientCAFile = e.ca.write(t)
	e.dev = testdev.Start(t, testdev.Options{DataDir: e.data, PDS: e.pds, Workspaces: true, KCP: kcp})
	e.taken.Add(1) // the first is the server's own
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
	if i >= accounts {
		t.Fatalf("all %d accounts are taken", accounts)
	}
	a := e.pds.Clients()[fmt.Sprintf("a%02d", i)]
	keepSecret(a.Password)
	return a
}

// patience is how long a test waits for what must come at some time: long, for it is
// waited for only where something is wrong.
const patience = 2 * time.Minute

// waitFor waits until ok returns nil.
func waitFor(t testing.TB, what string, ok func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
