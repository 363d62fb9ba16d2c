package devpds

import (
	"net/http"
	"strconv"

	"github.com/ipfs/go-cid"
)

// target of a write: whose repository, and the conditions.
type target struct {
	account    *account
	swapCommit *cid.Cid
	// validate is the request's, nil if absent.
	validate *bool
}

// writeTarget reads what the writes have in common, and checks that the caller
// may write there.
func (s *Server) writeTarget(r *request) (*target, error) {
	repo, err := r.text("repo")
	if err != nil {
		return nil, err
	}
	if err := checkIdentifier(repo, "$.repo"); err != nil {
		return nil, err
	}
	t := &target{}
	if t.swapCommit, err = r.swapCID("swapCommit", false); err != nil {
		return nil, err
	}
	if t.validate, err = r.flag("validate"); err != nil {
		return nil, err
	}
	t.account = s.findAccount(repo)
	switch {
	case t.account == nil:
		return nil, &xrpcError{http.StatusForbidden, "AccountNotFound", "Account not found"}
	case t.account.TakedownRef != "":
		return nil, authRequired("AccountTakedown", "Account has been taken down")
	case !t.account.DeactivatedAt.IsZero():
		return nil, authRequired("AccountDeactivated", "Account is deactivated")
	case t.account.DID != r.auth.did:
		return nil, authRequired("", "")
	}
	return t, nil
}

// validationStatus of a record: no lexicon is known here.
func (t *target) validationStatus() string {
	if t.validate != nil && !*t.validate {
		return ""
	}
	return "unknown"
}

// prepare makes a write of a record, or refuses it. value is decoded JSON at a
// place of the body.
func (t *target) prepare(action, collection, rkey string, value any, at string) (write, error) {
	w := write{action: action, path: pathOf(collection, rkey)}
	if _, ok := value.(object); !ok {
		return w, invalidRequest("Expected object value type at %s", at)
	}
	v, err := fromJSON(value, at)
	if err != nil {
		return w, err
	}
	rec, ok := v.(object)
	if !ok { // {"$link": …} or {"$bytes": …}
		return w, invalidRequest("Expected object value type at %s", at)
	}
	switch kind, ok := rec["$type"]; {
	case !ok:
		rec["$type"] = collection
	case kind != collection:
		return w, invalidRequest("Invalid $type: expected %s, got %v", collection, kind)
	}
	if t.validate != nil && *t.validate {
		return w, invalidRequest("Unknown lexicon type: %s", collection)
	}
	w.data, w.cid, err = encodeRecord(rec)
	return w, err
}

// answer of a single write.
func (t *target) answer(w write, snap *snapshot) object {
	out := object{"uri": uri(t.account.DID, w.path), "cid": w.cid.String()}
	if st := t.validationStatus(); st != "" {
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

// putRecord is com.atproto.repo.putRecord. The same content again is answered
// without commit, and without a look at the swap.
func (s *Server) putRecord(r *request) (any, error) {
	collection, rkey, err := recordFields(r.body, "$")
	if err != nil {
		return nil, err
	}
	value, ok := r.body["record"]
	if !ok {
		return nil, invalidRequest("Missing required key %q at $", "record")
	}
	swap, err := r.swapCID("swapRecord", true)
	if err != nil {
		return nil, err
	}
	t, err := s.writeTarget(r)
	if err != nil {
		return nil, err
	}
	w, err := t.prepare("create", collection, rkey, value, "$.record")
	if err != nil {
		return nil, err
	}
	w.swap = swap
	repo := s.repository(t.account.DID)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if old, exists := repo.cur.Load().record(w.path); exists {
		if old.cid.Equals(w.cid) {
			return t.answer(w, nil), nil
		}
		w.action = "update"
	}
	snap, err := s.commit(r.ctx, repo, []write{w}, t.swapCommit)
	if err != nil {
		return nil, err
	}
	return t.answer(w, snap), nil
}

// createRecord is com.atproto.repo.createRecord. An existing key is an internal
// error of the reference, and here.
func (s *Server) createRecord(r *request) (any, error) {
	collection, err := r.text("collection")
	if err != nil {
		return nil, err
	}
	if err := checkCollection(collection, "$.collection"); err != nil {
		return nil, err
	}
	rkey, err := r.optionalText("rkey")
	if err != nil {
		return nil, err
	}
	if _, given := r.body["rkey"]; given {
		if err := checkRKey(rkey, "$.rkey"); err != nil {
			return nil, err
		}
	}
	value, ok := r.body["record"]
	if !ok {
		return nil, invalidRequest("Missing required key %q at $", "record")
	}
	t, err := s.writeTarget(r)
	if err != nil {
		return nil, err
	}
	w, err := t.prepare("create", collection, or(rkey, s.newRKey()), value, "$.record")
	if err != nil {
		return nil, err
	}
	repo := s.repository(t.account.DID)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	snap, err := s.commit(r.ctx, repo, []write{w}, t.swapCommit)
	if err != nil {
		return nil, err
	}
	return t.answer(w, snap), nil
}

// deleteRecord is com.atproto.repo.deleteRecord. Nothing to delete is answered
// without commit.
func (s *Server) deleteRecord(r *request) (any, error) {
	collection, rkey, err := recordFields(r.body, "$")
	if err != nil {
		return nil, err
	}
	swap, err := r.swapCID("swapRecord", false)
	if err != nil {
		return nil, err
	}
	t, err := s.writeTarget(r)
	if err != nil {
		return nil, err
	}
	w := write{action: "delete", path: pathOf(collection, rkey), swap: swap}
	repo := s.repository(t.account.DID)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if _, exists := repo.cur.Load().record(w.path); !exists {
		return object{}, nil
	}
	snap, err := s.commit(r.ctx, repo, []write{w}, t.swapCommit)
	if err != nil {
		return nil, err
	}
	return object{"commit": commitView(snap)}, nil
}

// recordFields are collection and rkey of an object, both required.
func recordFields(body object, at string) (collection, rkey string, err error) {
	if collection, err = textField(body, "collection", at); err != nil {
		return "", "", err
	}
	if err := checkCollection(collection, at+".collection"); err != nil {
		return "", "", err
	}
	if rkey, err = textField(body, "rkey", at); err != nil {
		return "", "", err
	}
	return collection, rkey, checkRKey(rkey, at+".rkey")
}

// newRKey is a TID for a record without key, greater than all before.
func (s *Server) newRKey() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastRKey = nextTID(s.clock.Now(), 0, s.lastRKey)
	return s.lastRKey
}

// place in a list of the body.
func place(key string, i int) string { return "$." + key + "[" + strconv.Itoa(i) + "]" }
