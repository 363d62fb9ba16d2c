package usage

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// Config of a Tracker.
type Config struct {
	// Etcd to follow.
	Etcd *clientv3.Client
	// Prefix of everything that is kept in etcd.
	Prefix string
	// Views are the resources whose objects lie below <Prefix>/views.
	Views []string
	// Limits of every workspace but Exempt.
	Limits Limits
	// Exempt is the workspace that has none.
	Exempt string
	// Clock; nil is the real one.
	Clock clock.WithTicker
}

// Tracker counts the objects of all workspaces.
type Tracker struct {
	etcd   *clientv3.Client
	prefix string
	limits Limits
	exempt string
	clock  clock.WithTicker

	mu       sync.Mutex        // guards what follows, and what is in it
	resource map[string]*place // by resource
	places   []*place
	accounts map[string]*account // by workspace
	unknown  []*Reservation      // ended by Unknown, in the order of their ends
	moved    chan struct{}       // closed and made anew when the tracker gets on
}

// holding is what lies at a place.
type holding int

const (
	holdsObjects holding = iota
	holdsIntents         // of objects; at most one each
	holdsRemains         // of intents that were dropped; several of an object
)

// place is a prefix in etcd where something lies, as <resource>/<workspace>/<name>…
// after cut.
type place struct {
	prefix, cut string
	holds       holding
	of          *place // where the objects of intents lie
	revision    int64  // up to which it is counted; 0: it was not read yet
	settling    []*Reservation
}

// New returns a tracker that has counted nothing yet.
func New(c Config) *Tracker {
	prefix := path.Join("/", c.Prefix) + "/"
	t := &Tracker{
		etcd: c.Etcd, prefix: prefix, limits: c.Limits, exempt: c.Exempt, clock: c.Clock,
		resource: map[string]*place{}, accounts: map[string]*account{}, moved: make(chan struct{}),
	}
	if t.clock == nil {
		t.clock = clock.RealClock{}
	}
	if len(c.Views) > 0 {
		views := &place{prefix: prefix + "views/", cut: prefix + "views/"}
		t.places = append(t.places, views,
			&place{prefix: prefix + "intents/", cut: prefix + "intents/", holds: holdsIntents, of: views},
			&place{prefix: prefix + "tombstones/", cut: prefix + "tombstones/", holds: holdsRemains})
		for _, r := range c.Views {
			t.resource[r] = views
		}
	}
	return t
}

// Add makes the tracker count a resource, unless it does already. It comes before Run.
func (t *Tracker) Add(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resource[resource] == nil {
		p := &place{prefix: t.prefix + resource + "/", cut: t.prefix}
		t.places = append(t.places, p)
		t.resource[resource] = p
	}
}

func (t *Tracker) placeOf(resource string) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resource[resource]
}

// Run counts until ctx ends.
func (t *Tracker) Run(ctx context.Context) error {
	defer metrics.AddWorkspaces(t.observe)()
	defer metrics.AddWorkspaceLimits(t.limits.Objects, t.limits.Bytes)()
	var wg sync.WaitGroup
	t.mu.Lock()
	for _, p := range t.places {
		wg.Go(func() { t.follow(ctx, p) })
	}
	t.mu.Unlock()
	wg.Wait()
	return nil
}

// followPause is between two attempts to read a place.
const followPause = time.Second

// follow counts one place: it reads everything, then what changes, and everything
// again where changes were missed. Meanwhile what is known stays.
func (t *Tracker) follow(ctx context.Context, p *place) {
	told := false
	for ctx.Err() == nil {
		revision, err := t.list(ctx, p)
		if err == nil {
			told = false
			err = t.watch(ctx, p, revision)
		}
		if ctx.Err() != nil {
			return
		}
		if !told {
			klog.FromContext(ctx).Info("The objects of the workspaces will be counted again", "below", p.prefix, "err", err)
			told = true
		}
		select {
		case <-ctx.Done():
		case <-t.clock.After(followPause):
		}
	}
}

// list counts everything at one revision, and returns it.
func (t *Tracker) list(ctx context.Context, p *place) (revision int64, err error) {
	const page = 500
	key, end := p.prefix, clientv3.GetPrefixRangeEnd(p.prefix)
	found := map[string]map[id]int{}
	names := map[string]string{} // resources, each once
	for {
		resp, err := t.etcd.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", p.prefix, err)
		}
		if revision == 0 {
			revision = resp.Header.Revision
		}
		for _, kv := range resp.Kvs {
			ws, i, ok := p.parse(string(kv.Key), names)
			if !ok {
				continue
			}
			if found[ws] == nil {
				found[ws] = map[id]int{}
			}
			found[ws][i] = len(kv.Value)
		}
		if !resp.More {
			break
		}
		key = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for ws, a := range t.accounts {
		for i := range a.at(p) {
			if _, still := found[ws][i]; !still && (i.place == p || p.holds == holdsIntents) {
				a.set(p, i, -1)
			}
		}
		if found[ws] == nil {
			t.dropIdleLocked(ws)
		}
	}
	for ws, sizes := range found {
		a := t.accountLocked(ws)
		for i, size := range sizes {
			a.set(p, i, size)
		}
	}
	t.reachedLocked(p, revision)
	return revision, nil
}

// watch counts what changes after revision, until it misses something.
func (t *Tracker) watch(ctx context.Context, p *place, revision int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	names := map[string]string{}
	for resp := range t.etcd.Watch(ctx, p.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1)) {
		if err := resp.Err(); err != nil {
			return fmt.Errorf("watch %s: %w", p.prefix, err)
		}
		if len(resp.Events) > 0 {
			t.apply(p, resp.Events, names)
		}
	}
	return fmt.Errorf("watch %s: it ended: %w", p.prefix, ctx.Err())
}

func (t *Tracker) apply(p *place, events []*clientv3.Event, names map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := p.revision
	for _, e := range events {
		last = max(last, e.Kv.ModRevision)
		ws, i, ok := p.parse(string(e.Kv.Key), names)
		if !ok {
			continue
		}
		size := len(e.Kv.Value)
		if e.Type == clientv3.EventTypeDelete {
			size = -1
		}
		a := t.accountLocked(ws)
		a.set(p, i, size)
		t.dropIdleLocked(ws)
	}
	t.reachedLocked(p, last)
}

// reachedLocked: everything at p is counted up to revision.
func (t *Tracker) reachedLocked(p *place, revision int64) {
	p.revision = max(p.revision, revision)
	var still []*Reservation
	for _, r := range p.settling {
		if r.revision > p.revision {
			still = append(still, r)
		} else {
			t.releaseLocked(r)
		}
	}
	p.settling = still
	for now := t.clock.Now(); len(t.unknown) > 0 && now.After(t.unknown[0].until); t.unknown = t.unknown[1:] {
		t.releaseLocked(t.unknown[0]) // else what nobody writes to any more would be kept for ever
	}
	close(t.moved)
	t.moved = make(chan struct{})
}

// Ready fails until the limits can be kept: until everything has been counted once.
func (t *Tracker) Ready() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits.any() && !t.readyLocked() {
		return ErrNotReady
	}
	return nil
}

// readyLocked tells whether everything has been counted once.
func (t *Tracker) readyLocked() bool {
	for _, p := range t.places {
		if p.revision == 0 {
			return false
		}
	}
	return true
}

func (t *Tracker) accountLocked(workspace string) *account {
	a := t.accounts[workspace]
	if a == nil {
		a = newAccount()
		t.accounts[workspace] = a
	}
	return a
}

func (t *Tracker) dropIdleLocked(workspace string) {
	if a := t.accounts[workspace]; a != nil && a.idle() {
		delete(t.accounts, workspace)
	}
}

// parse reads a key in etcd. Its parts are copied, and a resource's name is kept once.
func (p *place) parse(key string, names map[string]string) (workspace string, i id, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(key, p.cut), "/", 3)
	if len(parts) != 3 || p.holds != holdsRemains && strings.Contains(parts[2], "/") {
		return "", id{}, false
	}
	resource, known := names[parts[0]]
	if !known {
		resource = strings.Clone(parts[0])
		names[resource] = resource
	}
	at := p
	if p.holds == holdsIntents {
		at = p.of
	}
	return strings.Clone(parts[1]), id{at, resource, strings.Clone(parts[2])}, true
}

// observe is what metrics tell.
func (t *Tracker) observe() []metrics.Workspace {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]metrics.Workspace, 0, len(t.accounts))
	for ws, a := range t.accounts {
		if len(a.sizes) > 0 || a.left > 0 {
			out = append(out, metrics.Workspace{Name: ws, Objects: len(a.sizes), Bytes: a.bytes + a.left})
		}
	}
	return out
}
