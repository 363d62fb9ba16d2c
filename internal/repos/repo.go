package repos

import (
	"sync"
	"time"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// repo is what the manager knows of one AtprotoRepo beyond its object. Only the
// worker that reconciles it changes it.
type repo struct {
	mu sync.Mutex // guards what follows
	// conn reaches the account; nil before it was resolved.
	conn *connection
	// mount is what the hub was given last; Repo is nil where there is none.
	mount repostore.MountedRepo
	// connectErr is why there is no connection as the spec asks for one: conn, if
	// there is one, is of an earlier spec.
	connectErr error
	// resolveErr is why the account isn't known (any more).
	resolveErr error
	// handle of the account, as its DID document names it.
	handle string
	// resolved tells that the DID document was read for conn.
	resolved bool
	// resolvedAt is when it was read last.
	resolvedAt time.Time
	// authorized is the last answer to our credentials; nil with authChecked set
	// is a yes.
	authorized  error
	authChecked time.Time
	// swap tells whether the PDS of conn honours swapRecord.
	swap    verdict
	swapErr error
	// wrote is when the status was written last.
	wrote time.Time
	// turns counts the times that it was reconciled: what else is here stays as it is
	// between two.
	turns int
	// shown is what the status shows in every word; zero: it isn't known.
	shown sight
}

// verdict on a question that may be open.
type verdict int

const (
	open verdict = iota
	yes
	no
)

// granted is the access in effect.
func (r *repo) granted(spec *v1alpha1.AtprotoRepoSpec) repostore.Access {
	switch {
	case spec.Access == v1alpha1.AccessNone:
		return repostore.AccessNone
	case spec.Access == v1alpha1.AccessReadWrite && spec.CredentialsRef != nil && r.swap == yes:
		return repostore.AccessReadWrite
	default:
		return repostore.AccessRead
	}
}

// sight is what a status is made of, where nothing fails and nothing lags: those are
// told in words, and by how long. It is compared each second, for every repository.
type sight struct {
	obj       *v1alpha1.AtprotoRepo // as the mirror has it, which never changes one
	turns     int
	rev       string // which all views have reached
	streaming bool
	beyond    int
	workspace presence
}

// sight is what the status would be made of now; known: it shows that already.
func (r *repo) sight(obj *v1alpha1.AtprotoRepo, state repostore.RepoState, workspace presence) (s sight, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !state.CaughtUp || state.Err != nil || state.Rev != state.IngestedRev {
		return sight{}, false
	}
	s = sight{obj, r.turns, state.Rev, state.Streaming, state.Beyond, workspace}
	return s, s == r.shown
}

// keepSight remembers what the status shows.
func (r *repo) keepSight(s sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = s
}

// reconciled is called at the end of each turn.
func (r *repo) reconciled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns++
}

func (r *repo) statusWritten(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote = at
}

// repoFor is the manager's part of an AtprotoRepo, made if need be.
func (m *Manager) repoFor(k key) *repo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.repos[k] == nil {
		m.repos[k] = &repo{}
	}
	return m.repos[k]
}

// drop forgets an AtprotoRepo that is gone.
func (m *Manager) drop(k key) {
	m.mu.Lock()
	r := m.repos[k]
	delete(m.repos, k)
	m.mu.Unlock()
	if r == nil {
		return
	}
	m.unmount(k, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		r.conn.release()
		r.conn = nil
	}
}
