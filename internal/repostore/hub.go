package repostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// HubConfig is what a Hub needs.
type HubConfig struct {
	// Etcd is used for transactions, beside the stock stores' own clients.
	Etcd *clientv3.Client
	// Prefix of everything that is kept in etcd.
	Prefix string
	// Clock; nil is the real one.
	Clock clock.WithTicker
	// Replica names this process in nonces and elections; it must be unique.
	Replica string
	// IntentTerm is how long a write's owner is waited for; 0 is 15 s. It must
	// outlast PutTimeout.
	IntentTerm time.Duration
	// PutTimeout bounds one write to the PDS; 0 is 10 s.
	PutTimeout time.Duration
	// EventWait is how long a barrier that is behind waits for the event source
	// before it compares the repository itself; 0 is 30 ms.
	EventWait time.Duration
	// LookRate is how many times a second, for each PDS host, one replica asks for
	// the head of a repository whose event source is quiet; 0 never does. It is for
	// a PDS of one's own: a hosted one counts every request.
	LookRate float64
	// PublishDelay is how long status changes of an object are collected before
	// they are put into its record; 0 is 500 ms.
	PublishDelay time.Duration
	// Tracer records what happens without a request; nil: nothing is.
	Tracer trace.TracerProvider
	// Room bounds what records become objects in each workspace; nil: nothing does.
	Room Room
}

// Hub holds all repositories and all record-backed kinds of one process.
type Hub struct {
	etcd         *clientv3.Client
	keys         keyspace
	clock        clock.WithTicker
	replica      string
	intentTerm   time.Duration
	putTimeout   time.Duration
	eventWait    time.Duration
	publishDelay time.Duration
	lookRate     float64
	tracer       trace.TracerProvider
	room         Room // nil: there is any

	remounted remounted

	expiry *expiry
	rounds sync.Map // workspaces whose expired intents are being settled

	// intents counts the open ones, as of the last sweep.
	intents     struct{ live, expired atomic.Int64 }
	unpublished unpublished

	nonces  atomic.Int64
	ticked  atomic.Int64 // unix nanoseconds of the last tick of Run
	running atomic.Bool
	// wasReady says that Ready has succeeded.
	wasReady atomic.Bool

	// failpoint, where set, is told each step by name and decides there: tests
	// stop, order or kill. It answers true where it did the waiting.
	failpoint func(point string) bool
	// keepContext, where set, is runContext: tests know their actors by the context.
	keepContext func(context.Context) context.Context

	// collecting makes one change of a collection come after the other, in the hub and
	// in its mount.
	collecting sync.Mutex

	mu     sync.RWMutex // guards what follows
	loaded bool         // SetMountsLoaded was called
	stores []*Store
	mounts map[string]map[string]*mount // workspace → name
	// defaults are the AtprotoRepos, mounted or not, that are to be their
	// workspace's default: see ExpectDefault.
	defaults map[string]map[string]bool
	// expected are the AtprotoRepos that can't be mounted yet: see ExpectRepo.
	expected map[string]map[string]ExpectedRepo
	// collections are what SetCollection has set, for repositories mounted or not.
	collections map[collectionPlace]Collection
	base        context.Context // of the mounts' goroutines; set by Run
	wg          sync.WaitGroup
}

// NewHub returns a hub that serves nothing yet.
func NewHub(c HubConfig) *Hub {
	h := &Hub{
		etcd: c.Etcd, keys: newKeyspace(c.Prefix), clock: c.Clock, replica: c.Replica,
		intentTerm: c.IntentTerm, putTimeout: c.PutTimeout, eventWait: c.EventWait, publishDelay: c.PublishDelay, lookRate: c.LookRate,
		tracer: c.Tracer, room: c.Room,
		mounts: map[string]map[string]*mount{}, defaults: map[string]map[string]bool{}, remounted: newRemounted(),
	}
	if h.clock == nil {
		h.clock = clock.RealClock{}
	}
	defaultTo(&h.intentTerm, 15*time.Second)
	h.expiry = newExpiry(h.intentTerm)
	defaultTo(&h.putTimeout, 10*time.Second)
	defaultTo(&h.eventWait, 30*time.Millisecond)
	defaultTo(&h.publishDelay, 500*time.Millisecond)
	return h
}

func defaultTo(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

func (h *Hub) step(point string) bool { return h.failpoint != nil && h.failpoint(point) }

// nonce names one write (I3).
func (h *Hub) nonce() string {
	return fmt.Sprintf("%s-%d-%d", h.replica, h.clock.Now().UnixNano(), h.nonces.Add(1))
}

func (h *Hub) addStore(s *Store) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores = append(h.stores, s)
}

func (h *Hub) allStores() []*Store {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Clone(h.stores)
}

func (h *Hub) storeFor(collection string) *Store {
	for _, s := range h.allStores() {
		if s.mapper.Collection() == collection {
			return s
		}
	}
	return nil
}

// SetMountsLoaded tells that every repository that exists has been given to
// SetRepo. Before, no consistent read can be answered (I7).
func (h *Hub) SetMountsLoaded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loaded = true
}

// Run drives the repositories until ctx ends, and returns when all has stopped.
func (h *Hub) Run(ctx context.Context) error {
	if h.running.Swap(true) {
		return errors.New("the hub runs already")
	}
	h.mu.Lock()
	h.base = ctx
	for _, ws := range h.mounts {
		for _, m := range ws {
			h.startLocked(m)
		}
	}
	h.mu.Unlock()

	defer metrics.AddSource(h.observe)()
	h.wg.Go(func() { h.sweeping(ctx) })
	h.wg.Go(func() { h.wakingMounts(ctx) })
	h.wg.Go(func() { h.followIdentities(ctx) })
	h.wg.Go(func() { h.whileElected(ctx, "publisher", h.publishing) })
	if h.lookRate > 0 {
		h.wg.Go(func() { h.whileElected(ctx, "looker", h.looking) })
	}
	ticker := h.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		h.ticked.Store(h.clock.Now().UnixNano())
		select {
		case <-ctx.Done():
			h.stopAll()
			h.wg.Wait()
			return nil
		case <-ticker.C():
		}
	}
}

func (h *Hub) stopAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ws := range h.mounts {
		for _, m := range ws {
			m.stop()
		}
	}
}
