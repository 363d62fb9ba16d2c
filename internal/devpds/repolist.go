package devpds

import (
	"sort"
	"strconv"
	"strings"
)

// listRepos is com.atproto.sync.listRepos: every account, the oldest first. The
// cursor is "milliseconds::DID" of the last one.
func (s *Server) listRepos(r *request) (any, error) {
	limit, err := limitParam(r.params, 500, 1000)
	if err != nil {
		return nil, err
	}
	millis, did := int64(-1), ""
	if cursor := r.params.Get("cursor"); cursor != "" {
		first, second, ok := strings.Cut(cursor, "::")
		if millis, err = strconv.ParseInt(first, 10, 64); err != nil || !ok {
			return nil, invalidRequest("Malformed cursor")
		}
		did = second
	}
	s.mu.RLock()
	accounts := make([]*account, 0, len(s.accounts.byDID))
	for _, a := range s.accounts.byDID {
		if m := a.CreatedAt.UnixMilli(); m > millis || m == millis && a.DID > did {
			accounts = append(accounts, a)
		}
	}
	s.mu.RUnlock()
	sort.Slice(accounts, func(i, j int) bool {
		a, b := accounts[i], accounts[j]
		if am, bm := a.CreatedAt.UnixMilli(), b.CreatedAt.UnixMilli(); am != bm {
			return am < bm
		}
		return a.DID < b.DID
	})
	repos, out := []object{}, object{}
	for _, a := range accounts[:min(limit, len(accounts))] {
		snap := s.repository(a.DID).cur.Load()
		v := object{"did": a.DID, "head": snap.commit.String(), "rev": snap.rev, "active": a.status() == ""}
		if st := a.status(); st != "" {
			v["status"] = st
		}
		repos = append(repos, v)
		out["cursor"] = strconv.FormatInt(a.CreatedAt.UnixMilli(), 10) + "::" + a.DID
	}
	out["repos"] = repos
	return out, nil
}
