package repostore

import "fmt"

// ExpectDefault tells whether an AtprotoRepo, mounted or not, is to be the default
// of its workspace. While one is expected and none is mounted (its account is not
// resolved or its PDS not probed yet), an object that names no repository is
// refused: it would be created without a record, for good.
func (h *Hub) ExpectDefault(workspace, name string, expected bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !expected:
		delete(h.defaults[workspace], name)
		if len(h.defaults[workspace]) == 0 {
			delete(h.defaults, workspace)
		}
	case h.defaults[workspace] == nil:
		h.defaults[workspace] = map[string]bool{name: true}
	default:
		h.defaults[workspace][name] = true
	}
}

// noDefault is nil where a workspace without a mounted default has none to wait
// for.
func (h *Hub) noDefault(ws string) error {
	if err := h.mountsLoaded(); err != nil {
		return err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for name := range h.defaults[ws] {
		if m := h.mounts[ws][name]; m != nil && m.Closing {
			return beingDeleted(name)
		}
		return fmt.Errorf("%w: the default AtprotoRepo %q is not ready yet", ErrNotMounted, name)
	}
	return nil
}
