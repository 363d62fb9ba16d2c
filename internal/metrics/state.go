package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Repository is the state of a mounted repository at one moment.
type Repository struct {
	// Workspace and Name of its AtprotoRepo.
	Workspace, Name string
	// Reachable tells whether the PDS answered the last call, Streaming whether
	// the event source is connected.
	Reachable, Streaming bool
	// Lag is for how long the views have been behind what is known of the
	// repository, LagRevs by how many commits.
	Lag     time.Duration
	LagRevs int
	// WritePoints are left of the account's tightest limit, where the PDS told.
	WritePoints      int
	WritePointsKnown bool
}

// State of a process's storage at one moment.
type State struct {
	// Repositories that are mounted.
	Repositories []Repository
	// Waiting is the number of AtprotoRepos that can't be mounted yet.
	Waiting int
	// IntentsLive and IntentsExpired are the open intents, when they were last
	// looked at.
	IntentsLive, IntentsExpired int
	// Publishing tells whether this replica publishes statuses; Unpublished is how
	// many objects then wait for it, and OldestUnpublished for how long.
	Publishing        bool
	Unpublished       int
	OldestUnpublished time.Duration
}

// Source tells a state. It is asked at each scrape and must answer at once.
type Source func() State

var sources struct {
	sync.Mutex
	next   int
	states kind[Source]
	// certificates tell when a serving certificate ends; zero: there is none.
	certificates kind[func() time.Time]
	workspaces   kind[func() []Workspace]
	limits       kind[map[string]float64] // of workspaces, by name
}

// kind is one kind of sources, below the lock of all.
type kind[S any] struct{ of map[int]S }

// add adds one, until remove is called.
func (k *kind[S]) add(source S) (remove func()) {
	sources.Lock()
	defer sources.Unlock()
	if k.of == nil {
		k.of = map[int]S{}
	}
	sources.next++
	id := sources.next
	k.of[id] = source
	return func() {
		sources.Lock()
		defer sources.Unlock()
		delete(k.of, id)
	}
}

// all are those that are there now.
func (k *kind[S]) all() []S {
	sources.Lock()
	defer sources.Unlock()
	return slices.Collect(maps.Values(k.of))
}

// AddSource adds a state to what is served, until remove is called.
func AddSource(s Source) (remove func()) { return sources.states.add(s) }

// AddCertificate adds the end of a serving certificate's validity to what is
// served, until remove is called. Of several the first to end counts.
func AddCertificate(notAfter func() time.Time) (remove func()) {
	return sources.certificates.add(notAfter)
}

// certificateEnd is the first end of a serving certificate; zero: there is none.
func certificateEnd() (end time.Time) {
	for _, f := range sources.certificates.all() {
		if t := f(); !t.IsZero() && (end.IsZero() || t.Before(end)) {
			end = t
		}
	}
	return end
}

// current is the state of all sources as one. A process has one but in tests, where
// several servers may serve the same repositories: the worse counts then.
func current() (sum State, mounted int) {
	for _, s := range sources.states.all() {
		st := s()
		sum.Repositories = append(sum.Repositories, st.Repositories...)
		sum.Waiting += st.Waiting
		sum.IntentsLive += st.IntentsLive
		sum.IntentsExpired += st.IntentsExpired
		sum.Publishing = sum.Publishing || st.Publishing
		sum.Unpublished += st.Unpublished
		sum.OldestUnpublished = max(sum.OldestUnpublished, st.OldestUnpublished)
	}
	sum.Repositories, mounted = bounded(sum.Repositories)
	return sum, mounted
}
