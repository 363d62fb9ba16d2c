package repostore

import (
	"context"
	"fmt"
)

// unread is a repository of which an answer may be given without it.
type unread struct{ did, why string }

// unreadIn lists them.
func (h *Hub) unreadIn(ws string) []unread {
	var out []unread
	for _, m := range h.mountsIn(ws) {
		switch did := m.Repo.DID(); {
		case h.mountOf(ws, did) != m:
		case m.Access == AccessNone:
			out = append(out, unread{did, fmt.Sprintf("AtprotoRepo %q has spec.access None", m.Name)})
		case m.StaleReads && m.state().Err != nil:
			out = append(out, unread{did, fmt.Sprintf("AtprotoRepo %q is unavailable", m.Name)})
		}
	}
	for _, r := range h.expectedIn(ws) {
		if r.StaleReads {
			out = append(out, unread{r.DID, fmt.Sprintf("AtprotoRepo %q is unavailable: %s", r.Name, r.Reason)})
		}
	}
	return out
}

// notLost is an error where an object that has no view had one, which was lost, of a
// repository that isn't read now: it comes back once that is read. Until then nobody may
// be told that it is gone, for what depends on it would be ended.
func (s *Store) notLost(ctx context.Context, ref objectRef) error {
	for _, r := range s.hub.unreadIn(ref.workspace) {
		err := s.hub.eachKey(ctx, s.keys.uids(s.resource.Resource, ref.workspace, r.did), func(_ string, value []byte, _ int64) error {
			id, err := decodeIdentity(value)
			if err == nil && id.Name == ref.name {
				err = fmt.Errorf("%w: %s, and the view of %q was lost: it comes back once its record is read", ErrNotMounted, r.why, ref.name)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
