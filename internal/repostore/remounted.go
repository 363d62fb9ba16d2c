package repostore

import "sync"

// remounted are the workspaces in which the access to a repository changed: there may
// be statuses now that can be published.
type remounted struct {
	token chan struct{} // is there while there are any

	mu         sync.Mutex // guards workspaces
	workspaces map[string]bool
}

func newRemounted() remounted {
	return remounted{token: make(chan struct{}, 1), workspaces: map[string]bool{}}
}

func (r *remounted) add(workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
