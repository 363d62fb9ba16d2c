package repostore

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

// TestMain ends the shared etcd, then checks that nothing is left running. In a
// child of the crash matrix it runs that child instead.
func TestMain(m *testing.M) {
	if spec := os.Getenv(crashChildEnv); spec != "" {
		if err := runCrashChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	wait.ForeverTestTimeout = patience // of upstream's suite: half a minute
	code := m.Run()
	stopSharedEtcd()
	if code == 0 {
		if err := testleak.Find(ignoredLeaks()...); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// ignoredLeaks are in packages that are not ours: they run from the start of a
// program to its end, or end by themselves within seconds of a consistent read
// (the Cacher's timer).
func ignoredLeaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/ipfs/go-log/writer.(*MirrorWriter).logRoutine"),
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		goleak.IgnoreAnyFunction("k8s.io/apiserver/pkg/storage/cacher.(*watchCache).waitUntilFreshLocked.func2"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),
		// A watch that ends while the stock store still reads its initial list leaves
		// the sender behind: etcd's client sends without looking at the context.
		goleak.IgnoreAnyFunction("go.etcd.io/etcd/client/v3.(*kv).GetStream.func1"),
	}
}

// shared is the etcd of all tests that don't need one of their own: they keep
// apart by their prefixes.
var shared struct {
	once     sync.Once
	err      error
	dir      string
	etcd     *embed.Etcd
	client   *clientv3.Client // in this process, without a socket
	endpoint string
}

// sharedEtcd starts it at first use.
func sharedEtcd(t testing.TB) *clientv3.Client {
	t.Helper()
	shared.once.Do(func() { shared.err = startSharedEtcd() })
	if shared.err != nil {
		t.Fatalf("embedded etcd: %v", shared.err)
	}
	return shared.client
}

// sharedEndpoint is its URL, for clients that come over a socket.
func sharedEndpoint(t testing.TB) string {
	sharedEtcd(t)
	return shared.endpoint
}

func startSharedEtcd() error {
	dir, err := os.MkdirTemp("", "repostore-etcd-")
	if err != nil {
		return err
	}
	shared.dir = dir
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = dir, "fatal", true
	any0 := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = any0, any0
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = any0, any0
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	if shared.etcd, err = embed.StartEtcd(cfg); err != nil {
		return err
	}
	select {
	case <-shared.etcd.Server.ReadyNotify():
	case <-time.After(time.Minute):
		return errors.New("not ready after a minute")
	}
	shared.endpoint = "http://" + shared.etcd.Clients[0].Addr().String()
	shared.client = v3client.New(shared.etcd.Server)
	return nil
}

func stopSharedEtcd() {
	if shared.etcd != nil {
		_ = shared.client.Close() // it only cancels contexts
		shared.etcd.Close()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}
