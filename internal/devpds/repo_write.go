package devpds

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// writable finds the account that a call writes to, and checks that the caller
// may.
func (s *Server) writable(r *request) (*account, error) {
	a := s.findAccount(r.writes.repo)
	switch {
	case a == nil:
		return nil, &xrpcError{http.StatusForbidden, "AccountNotFound", "Account not found"}
	case a.TakedownRef != "":
		return nil, authRequired("AccountTakedown", "Account has been taken down")
	case !a.DeactivatedAt.IsZero():
		return nil, authRequired("AccountDeactivated", "Account is deactivated")
	case a.DID != r.auth.did:
		return nil, authRequired("", "")
	}
	return a, nil
}

// validationStatus of a record: no lexicon is known here.
func (in *writeInput) validationStatus() string {
	if in.validate != nil && !*in.validate {
		return ""
	}
	return "unknown"
}

// prepare makes a write of an input, or refuses its record.
func (s *Server) prepare(in *writeInput, iw inputWrite) (write, error) {
	w := write{action: iw.action, path: pathOf(iw.collection, iw.rkey), swap: iw.swap}
	if iw.action == "delete" {
		return w, nil
	}
	if iw.rkey == "" {
		w.path = pathOf(iw.collection, s.newRKey())
	}
	switch kind, ok := iw.value["$type"]; {
	case !ok:
		iw.value["$type"] = iw.collection
	case kind != iw.collection:
		return w, invalidRequest("Invalid $type: expected %s, got %s", iw.collection, strings.Trim(jsonText(kind), `"`))
	}
	if in.validate != nil && *in.validate {
		return w, invalidRequest("Unknown lexicon type: %s", iw.collection)
	}
	if len(iw.legacyBlobs) > 0 {
		return w, invalidRequest("Legacy blobs are not allowed (%s)", iw.legacyBlobs[0])
	}
	if iw.unencodable {
		return w, internalError()
	}
	if len(iw.blobs) > 0 {
		w.blob = iw.blobs[0]
	}
	var err error
	w.data, w.cid, err = encodeRecord(iw.value)
	return w, err
}

// single is the write of a call that has one, with where it goes.
type single struct {
	write
	account *account
	repo    *repository
}

// begin prepares the only write of a call and locks its repository, for the caller to
// unlock unless there is an error.
func (s *Server) begin(r *request) (*single, error) {
	a, err := s.writable(r)
	if err != nil {
		return nil, err
	}
	w, err := s.prepare(r.writes, r.writes.writes[0])
	if err != nil {
		return nil, err
	}
	repo := s.repository(a.DID)
	repo.mu.Lock()
	return &single{w, a, repo}, nil
}

// putRecord is com.atproto.repo.putRecord. The same content again is answered
// without commit, and without a look at the swap.
func (s *Server) putRecord(r *request) (any, error) {
	w, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	defer w.repo.mu.Unlock()
	old, exists := w.repo.cur.Load().record(w.path)
	switch {
	case exists && old.cid.Equals(w.cid):
		return r.writes.answer(w.account, w.write, nil), nil
	case exists:
		w.action = "update"
	default:
		w.action = "create"
	}
	return s.finish(r, w)
}

// createRecord is com.atproto.repo.createRecord. An existing key is an internal
// error of the reference, and here.
func (s *Server) createRecord(r *request) (any, error) {
	w, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	defer w.repo.mu.Unlock()
	return s.finish(r, w)
}

// finish commits the write of a record and answers.
func (s *Server) finish(r *request, w *single) (any, error) {
	snap, err := s.commit(r.ctx, w.repo, []write{w.write}, r.writes.swapCommit)
	if err != nil {
		return nil, err
	}
	return r.writes.answer(w.account, w.write, snap), nil
}

// deleteRecord is com.atproto.repo.deleteRecord. Nothing to delete is answered
// without commit, and without a look at the swap.
func (s *Server) deleteRecord(r *request) (any, error) {
	w, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	defer w.repo.mu.Unlock()
	if _, exists := w.repo.cur.Load().record(w.path); !exists {
		return object{}, nil
	}
	snap, err := s.commit(r.ctx, w.repo, []write{w.write}, r.writes.swapCommit)
	if err != nil {
		return nil, err
	}
	return object{"commit": commitView(snap)}, nil
}

// applyWrites is com.atproto.repo.applyWrites: one commit of at most 200 writes,
// guarded by swapCommit alone.
func (s *Server) applyWrites(r *request) (any, error) {
	a, err := s.writable(r)
	if err != nil {
		return nil, err
	}
	in := r.writes
	if len(in.writes) > maxWrites {
		return nil, invalidRequest("Too many writes. Max: 200")
	}
	writes, results := make([]write, 0, len(in.writes)), make([]object, 0, len(in.writes))
	for _, iw := range in.writes {
		w, err := s.prepare(in, iw)
		if err != nil {
			return nil, err
		}
		result := object{}
		if w.action != "delete" {
			result = in.answer(a, w, nil)
		}
		result["$type"] = applyWritesType + w.action + "Result"
		writes, results = append(writes, w), append(results, result)
	}
	repo := s.repository(a.DID)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	snap, err := s.commit(r.ctx, repo, writes, in.swapCommit)
	if err != nil {
		return nil, err
	}
	return object{"commit": commitView(snap), "results": results}, nil
}

// applyWritesPoints counts create 3, update 2, delete 1.
func applyWritesPoints(r *request) int {
	points := 0
	for _, w := range r.writes.writes {
		switch w.action {
		case "create":
			points += 3
		case "update":
			points += 2
		default:
			points++
		}
	}
	return points
}

// answer about a written record; a nil snapshot: no commit to tell of.
func (in *writeInput) answer(a *account, w write, snap *snapshot) object {
	out := object{"uri": uri(a.DID, w.path), "cid": w.cid.String()}
	if st := in.validationStatus(); st != "" {
		out["validationStatus"] = st
	}
	if snap != nil {
		out["commit"] = commitView(snap)
	}
	return out
}

// commitView is a commit as answers show it.
func commitView(snap *snapshot) object {
	return object{"cid": snap.commit.String(), "rev": snap.rev}
}

// newRKey is a TID for a record without key, greater than all before.
func (s *Server) newRKey() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastRKey = nextTID(s.clock.Now(), 0, s.lastRKey)
	return s.lastRKey
}

// jsonText is a decoded value as JSON, for messages.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// place in a list of the body.
func place(key string, i int) string { return "$." + key + "[" + strconv.Itoa(i) + "]" }
