package repostore

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// mount is a mounted repository at work: its event line, its barrier, its state.
type mount struct {
	MountedRepo
	hub      *Hub
	progress *progress
	loop     loop
	heads    flight
	syncing  turn // one comparison at a time
	// admitting is the turn of a record that appears near the bound of a collection.
	admitting turn
	big       atomic.Bool  // comparing takes an export
	touched   atomic.Int64 // counts what other objects' records got or lost: see members.go

	mu        sync.Mutex // guards what follows
	err       error      // of the last call to the PDS
	inactive  bool       // the account is deactivated or taken down
	head      string
	lagging   time.Time
	conflicts map[string]string // URI → the name that is taken
	deferred  map[atproto.Key]bool
	collected map[string]*collected // by NSID
	beyond    map[string]*beyond    // by NSID: see room.go
}

func newMount(h *Hub, r MountedRepo) *mount {
	m := &mount{
		MountedRepo: r, hub: h, progress: newProgress(), loop: newLoop(), syncing: newTurn(), admitting: newTurn(),
		// Long enough for a comparison of a big repository; callers leave earlier by
		// their own deadlines.
		heads:     flight{owner: h, workspace: r.Workspace, timeout: time.Minute},
		conflicts: map[string]string{}, deferred: map[atproto.Key]bool{}, beyond: map[string]*beyond{},
	}
	m.progress.woken = m.wake
	return m
}

// receive takes an event from the source.
func (m *mount) receive(e events.Event) {
	metrics.IngestEvent(string(e.Kind))
	if e.Kind == events.Account {
		m.mu.Lock()
		m.inactive = !e.Active
		m.mu.Unlock()
		m.wake()
		return
	}
	m.progress.add(e, m.hub.clock.Now(), func(collection string) bool { return m.hub.storeFor(collection) != nil })
}

// parallel is how many records of one repository are ingested at once.
const parallel = 8

// catchUp works the line off: a comparison if there is a gap, then every record
// that was announced. It returns the first error; the rest is tried all the same.
func (m *mount) catchUp(ctx context.Context) error {
	todo, g := m.progress.tasks()
	if g.open() {
		if err := m.compare(ctx, g); err != nil {
			return err
		}
		todo, _ = m.progress.tasks()
	}
	for key := range m.deferredKeys() {
		if blocked, err := m.blocked(ctx, key); err != nil || blocked {
			continue // looked at again with the next round
		}
		todo = append(todo, task{key: key})
	}
	room, err := m.roomFor(ctx)
	if err != nil {
		return err
	}
	for _, key := range room {
		todo = append(todo, task{key: key, wanted: true})
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, t := range todo {
		group.Go(func() error {
			err := m.ingest(ctx, t)
			switch {
			case err == nil:
				m.progress.done(t)
			case t.wanted:
				m.wanting(t.key, 0)
			}
			return err
		})
	}
	return group.Wait()
}

// ingest brings one record's view up to t.rev.
func (m *mount) ingest(ctx context.Context, t task) error {
	s := m.hub.storeFor(t.key.Collection)
	if s == nil {
		return nil
	}
	return s.ingest(ctx, m, t.key, ingestOptions{reach: t.rev, told: t.told})
}

// answered keeps what the last call to the PDS said.
func (m *mount) answered(head string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	if err == nil {
		m.inactive = false
	} else if errors.Is(err, atproto.ErrRepoInactive) {
		m.inactive = true
	}
	m.head = max(m.head, head)
	switch {
	case m.progress.reached(m.head):
		m.lagging = time.Time{}
	case m.lagging.IsZero():
		m.lagging = m.hub.clock.Now()
	}
}

func (m *mount) state() RepoState {
	known := m.progress.knownRev()
	m.mu.Lock()
	defer m.mu.Unlock()
	st := RepoState{
		Rev: max(m.head, known), IngestedRev: known, Reachable: m.err == nil, Err: m.err,
		Streaming: m.Source != nil && m.Source.Connected(),
		CaughtUp:  known != "" && known >= m.head, Conflicts: maps.Clone(m.conflicts), Beyond: m.beyondWorkspaceLocked(),
	}
	if !st.CaughtUp {
		st.Since = m.lagging
	}
	if m.inactive && st.Err == nil {
		st.Err, st.Reachable = atproto.ErrRepoInactive, false
	}
	return st
}

// deferKey remembers a record that can't be served until the object that bound
// its name is gone.
func (m *mount) deferKey(key atproto.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deferred[key] = true
}

func (m *mount) undefer(key atproto.Key, uri string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.deferred, key)
	delete(m.conflicts, uri)
	m.beyond[key.Collection].remove(key)
}

func (m *mount) deferredKeys() map[atproto.Key]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.deferred)
}

// blocked tells whether the object that keeps a deferred record from being served
// is still there. It asks etcd alone: records that wait cost the PDS nothing, and
// one that is deleted meanwhile is announced like any other.
func (m *mount) blocked(ctx context.Context, key atproto.Key) (bool, error) {
	s := m.hub.storeFor(key.Collection)
	if s == nil {
		return true, nil
	}
	uri := recordURI{m.Repo.DID(), key}
	_, sn, err := s.lookRecord(ctx, m.Workspace, uri, nil)
	return sn.there() && (sn.stamp.URI != uri.String() || sn.stamp.orphaned()), err
}

// conflict remembers a record whose name another object has.
func (m *mount) conflict(key atproto.Key, uri, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conflicts[uri] = name
	m.deferred[key] = true
	m.beyond[key.Collection].remove(key) // it wants a name, not room
}
