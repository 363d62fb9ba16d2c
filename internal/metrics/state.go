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
	next int
	all  map[int]Source
	// certificates tell when a serving certificate ends; zero: there is none.
	certificates map[int]func() time.Time
	workspaces   map[int]func() []Workspace
	limits       map[int]map[string]float64 // of workspaces, by name
}

// addTo adds one to the sources of a kind, until remove is called.
func addTo[S any](kind *map[int]S, source S) (remove func()) {
	sources.Lock()
	defer sources.Unlock()
	if *kind == nil {
		*kind = map[int]S{}
	}
	sources.next++
	id := sources.next
	(*kind)[id] = source
	return func() {
		sources.Lock()
		defer sources.Unlock()
		delete(*kind, id)
	}
}

// all are the sources of a kind.
func all[S any](kind *map[int]S) []S {
	sources.Lock()
	defer sources.Unlock()
	return slices.Collect(maps.Values(*kind))
}

// AddSource adds a state to what is served, until remove is called.
func AddSource(s Source) (remove func()) { return addTo(&sources.all, s) }

// AddCertificate adds the end of a serving certificate's validity to what is
// served, until remove is called. Of several the first to end counts.
func AddCertificate(notAfter func() time.Time) (remove func()) {
	return addTo(&sources.certificates, notAfter)
}

// certificateEnd is the first end of a serving certificate; zero: there is none.
func certificateEnd() (end time.Time) {
	for _, f := range all(&sources.certificates) {
		if t := f(); !t.IsZero() && (end.IsZero() || t.Before(end)) {
			end = t
		}
	}
	return end
}

// current is the state of all sources as one. A process has one but in tests, where
// several servers may serve the same repositories: the worse counts then.
func current() (sum State, mounted int) {
	for _, s := range all(&sources.all) {
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
