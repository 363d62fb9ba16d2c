package repostore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// Access is what may be done with a repository.
type Access string

const (
	// AccessNone: the repository is not asked at all; its objects stay as they are.
	AccessNone Access = "None"
	// AccessRead: its records are served, writes are refused.
	AccessRead Access = "Read"
	// AccessReadWrite: its records are served and written.
	AccessReadWrite Access = "ReadWrite"
)

// MountedRepo is a repository as an AtprotoRepo of a workspace gives it.
type MountedRepo struct {
	// Workspace and Name of the AtprotoRepo.
	Workspace, Name string
	// UID of the AtprotoRepo: it tells one that is being deleted from its successor.
	UID types.UID
	// Repo reaches the repository.
	Repo atproto.Repo
	// Source delivers its events; nil: the barrier alone brings the views up.
	Source events.Source
	// Default: its records appear by themselves, and objects that name no
	// repository are created in it.
	Default bool
	// Access to it.
	Access Access
	// StaleReads answers consistent reads from the views, with a warning, while
	// the PDS can't be reached.
	StaleReads bool
	// Withheld: write access was asked for, with credentials, and isn't granted, or
	// not yet. The deletion of an object then waits for it: else its record would stay
	// behind.
	Withheld bool
	// Closing: the AtprotoRepo is being deleted. What is bound to it is served as
	// before, and nothing else can be bound.
	Closing bool
}

// SetRepo mounts a repository, or replaces the one of the same workspace and
// name. Its ingest starts at once if the hub runs.
func (h *Hub) SetRepo(r MountedRepo) {
	m := newMount(h, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropExpectedLocked(r.Workspace, r.Name)
	m.collected = h.collectedLocked(r.Workspace, r.Name)
	old := h.mounts[r.Workspace][r.Name]
	if old != nil {
		old.stop()
	}
	if h.mounts[r.Workspace] == nil {
		h.mounts[r.Workspace] = map[string]*mount{}
	}
	h.mounts[r.Workspace][r.Name] = m
	h.startLocked(m)
	if old != nil && old.Access != r.Access {
		h.remounted.add(r.Workspace)
	}
}

// RemoveRepo unmounts a repository. Its objects stay in the views.
func (h *Hub) RemoveRepo(workspace, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropExpectedLocked(workspace, name)
	if m := h.mounts[workspace][name]; m != nil {
		m.stop()
		delete(h.mounts[workspace], name)
		if len(h.mounts[workspace]) == 0 {
			delete(h.mounts, workspace)
		}
	}
}

func (h *Hub) startLocked(m *mount) {
	if h.base == nil || h.base.Err() != nil || m.Access == AccessNone {
		return
	}
	m.start(h.base)
}

func (h *Hub) mountNamed(ws, name string) *mount {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.mounts[ws][name]
}

// mountOf is the mount of an account in a workspace; nil: none. Of two it is the
// one that may do more, then the default: an AtprotoRepo beside another of the
// same account takes nothing away from the objects of that one.
func (h *Hub) mountOf(ws, did string) *mount {
	var best *mount
	for _, m := range h.mountsIn(ws) {
		if m.Repo.DID() == did && (best == nil || m.rank() > best.rank()) {
			best = m
		}
	}
	return best
}

func (r MountedRepo) rank() int {
	n := map[Access]int{AccessRead: 2, AccessReadWrite: 4}[r.Access]
	if r.Default {
		n++
	}
	return n
}

func (h *Hub) defaultMount(ws string) *mount {
	for _, m := range h.mountsIn(ws) {
		if m.Default {
			return m
		}
	}
	return nil
}

// mountsIn lists the mounts of a workspace, by name.
func (h *Hub) mountsIn(ws string) []*mount {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make([]*mount, 0, len(h.mounts[ws]))
	for _, m := range h.mounts[ws] {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *mount) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (h *Hub) allMounts() []*mount {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var out []*mount
	for _, ws := range h.mounts {
		for _, m := range ws {
			out = append(out, m)
		}
	}
	return out
}

// mountsLoaded gates consistent reads until all repositories are known (I7).
func (h *Hub) mountsLoaded() error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if !h.loaded {
		return fmt.Errorf("%w: the server is still reading its AtprotoRepos", ErrNotMounted)
	}
	return nil
}

// RepoState is what the hub knows of a mounted repository.
type RepoState struct {
	// Rev is the newest rev that the PDS named, IngestedRev the one that all views
	// have reached.
	Rev, IngestedRev string
	// Reachable tells whether the last call to the PDS was answered; Err is the
	// last failure.
	Reachable bool
	Err       error
	// Streaming tells whether the event source is connected.
	Streaming bool
	// CaughtUp tells whether the views have reached the newest rev that is known.
	CaughtUp bool
	// Since is when the views began to lag; zero when caught up.
	Since time.Time
	// Conflicts are the URIs of records that can't be served because another
	// object has their name, with that name.
	Conflicts map[string]string
	// Beyond is how many records have no object for want of room in the workspace;
	// those of a collection count there.
	Beyond int
}

// RepoState tells the state of a mounted repository.
func (h *Hub) RepoState(workspace, name string) (RepoState, bool) {
	m := h.mountNamed(workspace, name)
	if m == nil {
		return RepoState{}, false
	}
	return m.state(), true
}

// Healthz fails when the ingest loop has not ticked lately: then this process
// serves a view that nobody brings up, and should be restarted.
func (h *Hub) Healthz() error {
	if !h.running.Load() {
		return errors.New("the ingest loop has not started")
	}
	if quiet := h.clock.Now().Sub(time.Unix(0, h.ticked.Load())); quiet > 30*time.Second {
		return fmt.Errorf("the ingest loop has not ticked for %s", quiet.Round(time.Second))
	}
	return nil
}

// Ready fails, after a start, until every repository is caught up or known to be
// unreachable: one tenant's dead PDS unreadies nobody. Nor does a repository that comes
// later: its own workspace waits for its first read, and all replicas begin that at once.
func (h *Hub) Ready() error {
	if err := h.mountsLoaded(); err != nil || h.wasReady.Load() {
		return err
	}
	for _, m := range h.allMounts() {
		if m.Access == AccessNone {
			continue
		}
		if st := m.state(); st.IngestedRev == "" && st.Err == nil {
			return fmt.Errorf("AtprotoRepo %s/%s is being read for the first time", m.Workspace, m.Name)
		}
	}
	h.wasReady.Store(true)
	return nil
}

// repoName is the name of the AtprotoRepo that serves an account in a workspace.
func (h *Hub) repoName(ws, did string) string {
	if m := h.mountOf(ws, did); m != nil {
		return m.Name
	}
	return ""
}
