package repos

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/fairly"
	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

const (
	// workers begin to reconcile. What waits for a dead PDS, for reconcileTimeout,
	// holds up its workspace alone.
	workers          = 8
	reconcileTimeout = 30 * time.Second
	// lookEvery is how often the hub's state of each repository is compared with
	// what the status says. It costs no request.
	lookEvery = time.Second
	// retryBase and retryMax bound the wait after a failure.
	retryBase, retryMax = time.Second, 2 * time.Minute
)

// Hub is what the manager needs of a repostore.Hub.
type Hub interface {
	SetRepo(repostore.MountedRepo)
	RemoveRepo(workspace, name string)
	ExpectRepo(repostore.ExpectedRepo)
	ExpectDefault(workspace, name string, expected bool)
	SetMountsLoaded()
	RepoState(workspace, name string) (repostore.RepoState, bool)
	CloseRepo(ctx context.Context, workspace, name string, uid types.UID) error
	Writing(ctx context.Context, workspace, did string) (bool, error)
	SetCollection(workspace, repo, nsid string, c *repostore.Collection)
	CloseCollection(ctx context.Context, workspace, name string, uid types.UID) error
	MembersMark(workspace, repo, nsid string) (repostore.MembersMark, bool)
	Members(ctx context.Context, workspace, repo, nsid string) (repostore.Members, bool, error)
}

// Config of a Manager.
type Config struct {
	// Hub that the repositories are mounted in.
	Hub Hub
	// All is a client of all workspaces, for reading.
	All versioned.Interface
	// For is a client of one workspace.
	For func(workspace string) (versioned.Interface, error)
	// Credentials of the accounts.
	Credentials credentials.Provider
	// Identities reads DID documents.
	Identities Identities
	// Keys finds signing keys; nil: the default of the atproto client.
	Keys atproto.KeyResolver
	// HTTP reaches the PDSes; it decides which addresses are allowed.
	HTTP *http.Client
	// Budgets of requests, one a PDS host.
	Budgets *atproto.Budgets
	// NewSource makes an event source; nil: there are none, and reads alone bring
	// the views up.
	NewSource func(SourceKey) (events.Source, error)
	// Workspace tells whether a workspace is there still; nil: none comes or goes.
	Workspace func(name string) bindings.State
	// Leading tells whether this process writes the statuses; nil: always.
	Leading func() bool
	// Clock; nil: the real one.
	Clock clock.WithTicker
}

// Manager mounts repositories. Run it once.
type Manager struct {
	Config
	mirror  *mirror
	queue   workqueue.TypedRateLimitingInterface[key]
	sources *sources

	collections     *collectionMirror
	collectionQueue workqueue.TypedRateLimitingInterface[collectionKey]

	mu               sync.Mutex // guards what follows
	collectionStates map[collectionKey]collectionState
	repos            map[key]*repo
	// loading are the AtprotoRepos of the first listing that were not looked at
	// yet; nil before the listing and after all were.
	loading map[key]bool
	loaded  bool
}

// key names an AtprotoRepo.
type key struct{ workspace, name string }

// New makes a manager.
func New(c Config) *Manager {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Leading == nil {
		c.Leading = func() bool { return true }
	}
	m := &Manager{Config: c, repos: map[key]*repo{}, collectionStates: map[collectionKey]collectionState{}}
	m.queue = newQueue[key](c.Clock)
	m.collectionQueue = newQueue[collectionKey](c.Clock)
	m.mirror = newMirror(m.repoChanged, m.listed)
	m.collections = newCollectionMirror(m.seatChanged)
	m.sources = newSources(c.NewSource)
	return m
}

func newQueue[T comparable](c clock.WithTicker) workqueue.TypedRateLimitingInterface[T] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](retryBase, retryMax), workqueue.TypedRateLimitingQueueConfig[T]{Clock: c})
}

// Run works until ctx ends, and returns when all has stopped.
func (m *Manager) Run(ctx context.Context) error {
	defer utilruntime.HandleCrashWithContext(ctx)
	g, ctx := errgroup.WithContext(ctx)
	m.sources.start(ctx)
	g.Go(func() error { m.mirror.follow(ctx, m.All); return nil })
	g.Go(func() error { m.look(ctx); return nil })
	for _, kind := range collectionKinds {
		g.Go(func() error { m.collections.follow(ctx, kind, m.All); return nil })
	}
	g.Go(func() error {
		// What appears by a collection must be known before anything is mounted: a
		// rebuild makes the children anew.
		select {
		case <-m.collections.listed:
			m.crew(workers).Run(ctx)
		case <-ctx.Done():
		}
		return nil
	})
	g.Go(func() error { m.collectionCrew(collectionWorkers).Run(ctx); return nil })
	<-ctx.Done()
	m.shutDown()
	err := g.Wait()
	m.sources.wait()
	return err
}

func (m *Manager) shutDown() {
	m.queue.ShutDown()
	m.collectionQueue.ShutDown()
}

// crew reconciles AtprotoRepos.
func (m *Manager) crew(n int) *fairly.Crew[key] {
	return &fairly.Crew[key]{Queue: m.queue, Workspace: func(k key) string { return k.workspace }, Do: m.work, Workers: n, Clock: m.Clock}
}

// work reconciles an AtprotoRepo of the queue.
func (m *Manager) work(ctx context.Context, k key) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	logger := klog.FromContext(ctx).WithValues("atprotorepo", klog.KRef(k.workspace, k.name))
	again, err := m.reconcile(klog.NewContext(ctx, logger), k)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			logger.Info("AtprotoRepo not settled, will try again", "err", err)
		}
		if wait := atproto.RetryAfter(err); wait > 0 {
			m.queue.AddAfter(k, wait)
		} else {
			m.queue.AddRateLimited(k)
		}
	case again > 0:
		m.queue.Forget(k)
		m.queue.AddAfter(k, again)
	default:
		m.queue.Forget(k)
	}
}

// look queues every AtprotoRepo whose status the hub has outrun.
func (m *Manager) look(ctx context.Context) {
	ticker := m.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if !m.Leading() {
			continue
		}
		for _, k := range m.outrun() {
			m.queue.Add(k)
		}
		for _, k := range m.outrunCollections() {
			m.collectionQueue.Add(k)
		}
	}
}

// outrun are the AtprotoRepos whose status would change if it were written now.
func (m *Manager) outrun() []key {
	type pair struct {
		key  key
		repo *repo
	}
	m.mu.Lock()
	repos := make([]pair, 0, len(m.repos))
	for k, r := range m.repos {
		repos = append(repos, pair{k, r})
	}
	m.mu.Unlock()
	var out []key
	for _, p := range repos {
		obj := m.mirror.get(p.key)
		if obj == nil {
			continue
		}
		state, _ := m.Hub.RepoState(p.key.workspace, p.key.name)
		seen, known := p.repo.sight(obj, state, m.presenceOf(p.key.workspace))
		if known {
			continue
		}
		switch st := m.observe(p.key, p.repo, obj); {
		case m.worthWriting(p.repo, &obj.Status, st):
			out = append(out, p.key)
		case apiequality.Semantic.DeepEqual(&obj.Status, st):
			p.repo.keepSight(seen)
		}
	}
	return out
}

// listed is told what the first listing held: until each was mounted no
// consistent read may be answered (I7 of package repostore).
func (m *Manager) listed(keys []key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded || m.loading != nil {
		return
	}
	m.loading = make(map[key]bool, len(keys))
	for _, k := range keys {
		m.loading[k] = true
	}
	m.finishLoadingLocked()
}

// mounted is told that an AtprotoRepo was mounted, or can't be yet.
func (m *Manager) mounted(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.loading, k)
	m.finishLoadingLocked()
}

// allMounted tells whether the first listing was mounted.
func (m *Manager) allMounted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded
}

func (m *Manager) finishLoadingLocked() {
	if !m.loaded && m.loading != nil && len(m.loading) == 0 {
		m.loaded, m.loading = true, nil
		m.Hub.SetMountsLoaded()
	}
}
