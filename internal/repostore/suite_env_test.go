package repostore

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/api/apitesting"
	"k8s.io/apimachinery/pkg/runtime/schema"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/testport"
)

var podResource = schema.GroupResource{Resource: "pods"}

const podPrefix = "/pods/"

// suiteOptions of one case.
type suiteOptions struct {
	progressNotify time.Duration // of etcd; 0: its default
	indexed        bool          // the cache knows spec.nodeName and the namespace
	clusterScoped  bool          // the cache's keys have no namespace
	stockOnly      bool          // exchanged transformers are the stock store's alone
	bareKeys       bool          // errors name keys without our prefix
	created        bool          // Create returns once the cache and the watches show the object
}

// suiteEnv is the storage of one case: a real etcd, a real PDS, the stock store,
// the Store over it and, for the cached half, the Cacher and its delegator.
type suiteEnv struct {
	suiteOptions
	client *kubernetes.Client
	lists  *storagetesting.KubernetesRecorder
	kv     *storagetesting.KVRecorder
	pds    *suitePDS
	hub    *Hub
	codec  *failingCodec

	failTransform atomic.Bool
	views         *switchTransformer // the Store's
	stock         *switchTransformer // the stock store's, so that its reads can be counted

	store     *Store
	delegator *cacher.CacheDelegator // nil: raw
	clock     *cacheClock            // the Cacher's
	watches   seenWatches

	point atomic.Pointer[func(string) bool] // the hub's failpoint
}

// stockStore is what the tests need of the etcd3 store.
type stockStore interface {
	storage.Interface
	Close()
}

func newSuiteEnv(t *testing.T, o suiteOptions, cached bool) *suiteEnv {
	cfg := testserver.NewTestConfig(t)
	cfg.TickMs, cfg.ElectionMs = 10, 100 // alone, it is soon its own leader
	// What upstream finds free, others may have until it listens.
	cfg.ListenClientUrls, cfg.ListenPeerUrls = freeURL(t), freeURL(t)
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = cfg.ListenClientUrls, cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	if o.progressNotify != 0 {
		cfg.WatchProgressNotifyInterval = o.progressNotify
	}
	e := &suiteEnv{
		suiteOptions: o, client: testserver.RunEtcd(t, cfg),
		codec: &failingCodec{Codec: apitesting.TestCodec(podCodecs, examplev1.SchemeGroupVersion)},
	}
	t.Cleanup(func() { _ = e.client.Close() })
	e.views, e.stock = newSwitchTransformer(&e.failTransform), newSwitchTransformer(&e.failTransform)

	// The hub has a client of its own: the suite counts the reads of the stock
	// store's.
	own := e.newClient(t)
	e.lists, e.kv = recordKeys(e.client)
	e.pds = newSuitePDS(t)
	// Its repositories announce all by themselves. A barrier that didn't wait for that would
	// compare them, which moves etcd's revision, and the suite counts those.
	e.hub = NewHub(HubConfig{Etcd: own.Client, Prefix: suitePrefix, Replica: "suite", EventWait: time.Minute, PutTimeout: putTimeout, IntentTerm: intentTerm})
	e.hub.failpoint = func(point string) bool {
		f := e.point.Load()
		return f != nil && (*f)(point)
	}
	e.store = newStore(e.hub, storeConfig{
		raw: e.newStock(t), mapper: podMapper{}, resource: podResource, resourcePrefix: podPrefix, codec: e.codec, transformer: e.views,
	})
	if cached {
		// Before anything moves etcd's revision: the suite watches from 1 on.
		e.delegator = e.newDelegator(t)
	}
	e.hub.SetMountsLoaded()
	e.runHub(t, own.Client)
	return e
}

func freeURL(t *testing.T) []url.URL {
	addr, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	return []url.URL{{Scheme: "http", Host: addr}}
}

// under is the storage under test.
func (e *suiteEnv) under() suiteStore {
	if e.delegator != nil {
		return suiteStore{e.delegator, e}
	}
	return suiteStore{e.store, e}
}

func (e *suiteEnv) newClient(t testing.TB) *kubernetes.Client {
	c, err := kubernetes.New(clientv3.Config{Endpoints: e.client.Endpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (e *suiteEnv) newStock(t testing.TB) stockStore {
	client, prefix := e.client, e.hub.keys.views()
	if e.bareKeys {
		client, prefix = e.newClient(t), ""
		client.KV = namespace.NewKV(client.KV, suiteViews)
		client.Watcher = namespace.NewWatcher(client.Watcher, suiteViews)
	}
	versioner := storage.APIObjectVersioner{}
	compactor := etcd3.NewCompactor(client.Client, 0, clock.RealClock{}, nil)
	t.Cleanup(compactor.Stop)
	s, err := etcd3.New(client, compactor, e.codec, newPod, newPodList, prefix, podPrefix, podResource,
		stampStripper{e.stock}, etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(e.codec, versioner), versioner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// runHub runs the hub until the test ends. It returns once the publisher is
// elected, for the election moves etcd's revision, and the suite counts those.
func (e *suiteEnv) runHub(t testing.TB, etcd *clientv3.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("hub: %v", err)
		}
	})
	await(t, "the publisher to be elected", func() (bool, error) {
		resp, err := etcd.Get(ctx, e.hub.keys.prefix+"/elections/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && resp.Count > 0, err
	})
}

// await fails the test when nothing happens for long.
func await(t testing.TB, what string, done func() (bool, error)) {
	t.Helper()
	eventually(t, what, func() bool {
		ok, err := done()
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		return ok
	})
}
