package repostore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	plaintext "k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

const (
	testDID    = "did:plc:alicealicealicealicealic"
	testRepo   = "home" // the AtprotoRepo's name
	testPrefix = "/widgets"
)

// jumpClock is the real clock, whose time of day can be put forward: deadlines
// pass when a test says so.
type jumpClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *jumpClock) Now() time.Time                  { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *jumpClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *jumpClock) jump(d time.Duration)            { c.ahead.Add(int64(d)) }

// world is one workspace, with one repository, on the shared etcd, and the
// replicas that serve it.
type world struct {
	t      testing.TB
	prefix string
	ws     string
	repo   *memRepo
	clock  *jumpClock
	etcd   *clientv3.Client
	mapper widgetMapper
	raw    storage.Interface // nil: each replica makes its own
	// collection, where not nil, makes the records appear: the repository is not the
	// default then.
	collection *Collection
}

var worlds atomic.Int64

func newWorld(t testing.TB) *world {
	t.Helper()
	etcd := sharedEtcd(t)
	n := worlds.Add(1)
	return &world{t: t, prefix: fmt.Sprintf("/test/w%d", n), ws: "one", etcd: etcd, repo: newMemRepo(testDID), clock: &jumpClock{}}
}

// replica is one process: a hub, its store, its connection to the events.
type replica struct {
	*world
	name  string
	hub   *Hub
	store *Store
	src   *memSource
	gates *gates
	front storage.Interface // behind the Cacher; nil: the store itself
}

// The times of a write, which the real clock counts while a test holds its owner at a
// gate: longer than any machine stalls, and over when a test lets a minute pass.
const (
	putTimeout = 50 * time.Second
	intentTerm = 55 * time.Second
)

func (w *world) hubConfig(name string) HubConfig {
	return HubConfig{Etcd: w.etcd, Prefix: w.prefix, Clock: w.clock, Replica: name, PutTimeout: putTimeout, IntentTerm: intentTerm}
}

// replica starts none of the hub's goroutines: the test does what they would do,
// when it wants. Events are kept until it delivers them.
func (w *world) replica(name string, change ...func(*HubConfig)) *replica {
	w.t.Helper()
	c := w.hubConfig(name)
	for _, f := range change {
		f(&c)
	}
	raw := w.raw
	if raw == nil {
		raw = newRawWidgets(w.t, c.Etcd, w.prefix)
	}
	r := &replica{world: w, name: name, hub: NewHub(c), src: newMemSource(w.repo), gates: newGates()}
	r.hub.failpoint = r.gates.step
	r.store = newStore(r.hub, storeConfig{
		raw: raw, mapper: w.mapper, resource: widgetResource, resourcePrefix: testPrefix,
		codec: widgetCodec, transformer: plaintext.NewEncryptCheckTransformer(), annotated: true,
	})
	r.src.stall()
	r.hub.SetCollection(r.ws, testRepo, widgetCollection, r.collection)
	r.mount(AccessReadWrite)
	r.hub.SetMountsLoaded()
	return r
}

// mount mounts, or mounts anew, the world's repository.
func (r *replica) mount(a Access, change ...func(*MountedRepo)) {
	m := MountedRepo{Workspace: r.ws, Name: testRepo, Repo: r.repo, Source: r.src, Default: r.collection == nil, Access: a}
	for _, f := range change {
		f(&m)
	}
	r.hub.SetRepo(m)
	r.src.Subscribe(r.repo.did, r.m().receive) // what the mount's goroutine does first
}

func (r *replica) m() *mount { return r.hub.mountNamed(r.ws, testRepo) }

// newRawWidgets is the stock store that lies under ours.
func newRawWidgets(t testing.TB, etcd *clientv3.Client, prefix string) storage.Interface {
	t.Helper()
	s, err := rawWidgets(etcd, prefix)
	if err != nil {
		t.Fatalf("stock store: %v", err)
	}
	return s
}

func rawWidgets(etcd *clientv3.Client, prefix string) (storage.Interface, error) {
	kc := &kubernetes.Client{Client: etcd}
	kc.Kubernetes = kc
	v := storage.APIObjectVersioner{}
	return etcd3.New(kc, nil, widgetCodec, newWidget, newWidgetList, prefix+"/views", testPrefix, widgetResource,
		stampStripper{plaintext.NewEncryptCheckTransformer()}, etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(widgetCodec, v), v)
}

// key of a widget in the storage, and of its record.
func (w *world) key(name string) string { return testPrefix + "/" + w.ws + "/" + name }

func (w *world) ref(name string) objectRef { return makeRef(testPrefix, w.ws, name) }

func recordKey(name string) atproto.Key { return atproto.Key{Collection: widgetCollection, RKey: name} }

func recordURIOf(name string) string { return recordURI{testDID, recordKey(name)}.String() }

// keysBelow lists what is in etcd under a part of the world's prefix.
func (w *world) keysBelow(part string) []string {
	w.t.Helper()
	prefix := w.prefix + "/" + part + "/"
	resp, err := w.etcd.Get(w.t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, kv := range resp.Kvs {
		out = append(out, strings.TrimPrefix(string(kv.Key), prefix))
	}
	return out
}

// atOnce runs what a sweep starts before the sweep returns.
func atOnce(f func()) { f() }
