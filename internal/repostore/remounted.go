package repostore

import "sync"

// remounted are the workspaces in which the access to a repository changed: there may
// be statuses now that can be published.
type remounted struct {
	token chan struct{} // is there while there are any

	mu         sync.Mutex // guards what follows
	wanted     bool       // somebody takes them: else they would be kept for ever
	workspaces map[string]bool
}

func newRemounted() remounted {
	return remounted{token: make(chan struct{}, 1), workspaces: map[string]bool{}}
}

// begin is called by who takes them from now on, and looks at all workspaces first; end
// when nobody does any more.
func (r *remounted) begin() (end func()) {
	set := func(wanted bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wanted = wanted
		clear(r.workspaces)
	}
	set(true)
	return func() { set(false) }
}

func (r *remounted) add(workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wanted {
		return
	}
	r.workspaces[workspace] = true
	select {
	case r.token <- struct{}{}:
	default:
	}
}

// take empties it.
func (r *remounted) take() (workspaces []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ws := range r.workspaces {
		workspaces = append(workspaces, ws)
	}
	clear(r.workspaces)
	return workspaces
}
