package usage

import (
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

// etcd is one for all tests: each has a prefix of its own in it.
var etcd *clientv3.Client

func TestMain(m *testing.M) {
	code, err := run(m)
	if err == nil && code == 0 {
		err = testleak.Find(goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "usage-etcd-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = dir, "fatal", true
	any0 := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = any0, any0
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = any0, any0
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return 0, err
	}
	defer server.Close()
	<-server.Server.ReadyNotify()
	etcd = v3client.New(server.Server)
	defer func() { _ = etcd.Close() }()
	return m.Run(), nil
}

// world is a tracker over a prefix in etcd.
type world struct {
	testing.TB
	*Tracker
	prefix string
}

var worlds atomic.Int64

// patientClock is the real one, on which no write gives up before the tracker has seen
// what it waits for: how long a write waits at most isn't for a busy machine to test.
type patientClock struct{ clock.RealClock }

// NewTimer implements clock.Clock.
func (c patientClock) NewTimer(time.Duration) clock.Timer { return c.RealClock.NewTimer(patience) }

// newWorld makes a tracker that doesn't run yet, of the resources infras (views) and
// atprotorepos (plain). Without a clock it has a patientClock.
func newWorld(t testing.TB, l Limits, c clock.WithTicker) *world {
	t.Helper()
	w := &world{TB: t, prefix: fmt.Sprintf("/test-%d", worlds.Add(1))}
	w.again(l, c)
	return w
}

// again makes another tracker of the same prefix.
func (w *world) again(l Limits, c clock.WithTicker) {
	if c == nil {
		c = patientClock{}
	}
	w.Tracker = New(Config{Etcd: etcd, Prefix: w.prefix, Views: []string{"infras"}, Limits: l, Exempt: "default", Clock: c})
	w.Add("atprotorepos")
	w.Add("infras") // known already
}

// start runs it until stop or the end of the test, and waits until it has counted.
func (w *world) start() (stop func()) {
	w.Helper()
	ctx, cancel := contextOf(w.TB)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			w.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.Cleanup(stop)
	w.until("the first count", w.readyLocked)
	return stop
}

// patience is for a machine that does everything at once.
const patience = time.Minute

// until waits until ok, which is called under the lock.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	ctx, cancel := contextOf(w.TB)
	defer cancel()
	timer := time.AfterFunc(patience, cancel)
	defer timer.Stop()
	if _, err := w.await(ctx, 0, ok); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// put writes a value of size bytes.
func (w *world) put(key string, size int) (revision int64) {
	w.Helper()
	resp, err := etcd.Put(w.Context(), w.prefix+key, string(make([]byte, size)))
	if err != nil {
		w.Fatal(err)
	}
	return resp.Header.Revision
}

func (w *world) remove(key string) (revision int64) {
	w.Helper()
	resp, err := etcd.Delete(w.Context(), w.prefix+key)
	if err != nil || resp.Deleted != 1 {
		w.Fatal(resp, err)
	}
	return resp.Header.Revision
}

// has waits until the workspace has this much.
func (w *world) has(workspace string, objects int, bytes int64) {
	w.Helper()
	var n int
	var b int64
	w.until(fmt.Sprintf("%s with %d objects of %d bytes", workspace, objects, bytes), func() bool {
		n, b = 0, 0
		if a := w.accounts[workspace]; a != nil {
			n, b = a.used(w.clock.Now())
		}
		return n == objects && b == bytes
	})
}
