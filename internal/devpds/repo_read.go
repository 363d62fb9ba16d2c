package devpds

import "github.com/ipfs/go-cid"

// actor finds an active account by handle or DID; nil if there is none, or it is
// deactivated or taken down.
func (s *Server) actor(handleOrDID string) *account {
	a := s.findAccount(handleOrDID)
	if a == nil || a.status() != "" {
		return nil
	}
	return a
}

// getRecord is com.atproto.repo.getRecord. An inactive or unknown repository is
// InvalidRequest, not RecordNotFound.
func (s *Server) getRecord(r *request) (any, error) {
	repo, collection, rkey, err := recordParams(r.params, "repo")
	if err != nil {
		return nil, err
	}
	want := cid.Undef
	if r.params.Has("cid") {
		if want, err = parseCID(r.params.Get("cid"), "$.cid"); err != nil {
			return nil, err
		}
	}
	a := s.actor(repo)
	if a == nil {
		return nil, invalidRequest("Could not locate record")
	}
	snap := s.repository(a.DID).cur.Load()
	path := pathOf(collection, rkey)
	rec, ok := snap.visible(path)
	if !ok || want.Defined() && !want.Equals(rec.cid) {
		return nil, badRequest("RecordNotFound", "Could not locate record: %s", uri(a.DID, path))
	}
	return recordView(snap, rec)
}

// listRecords is com.atproto.repo.listRecords: by rkey, descending unless
// reverse, with a cursor on the last page too.
func (s *Server) listRecords(r *request) (any, error) {
	q := r.params
	limit, err := limitParam(q, 50, 100)
	if err != nil {
		return nil, err
	}
	if err := checkIdentifier(q.Get("repo"), "$.repo"); err != nil {
		return nil, err
	}
	collection := q.Get("collection")
	if err := checkCollection(collection, "$.collection"); err != nil {
		return nil, err
	}
	a := s.actor(q.Get("repo"))
	if a == nil {
		return nil, invalidRequest("Could not find repo: %s", q.Get("repo"))
	}
	snap := s.repository(a.DID).cur.Load()
	records, out := []any{}, object{}
	snap.list(collection, q.Get("cursor"), q.Get("reverse") == "true", func(rec record) bool {
		var v any
		if v, err = recordView(snap, rec); err != nil {
			return false
		}
		records = append(records, v)
		out["cursor"] = rec.path[len(collection)+1:]
		return len(records) < limit
	})
	if err != nil {
		return nil, err
	}
	out["records"] = records
	return out, nil
}

// describeRepo is com.atproto.repo.describeRepo.
func (s *Server) describeRepo(r *request) (any, error) {
	if err := checkIdentifier(r.params.Get("repo"), "$.repo"); err != nil {
		return nil, err
	}
	a, err := s.available(r.params.Get("repo"), nil)
	if err != nil {
		return nil, err
	}
	collections := s.repository(a.DID).cur.Load().collections()
	if collections == nil {
		collections = []string{}
	}
	doc, err := s.didDocument(a)
	if err != nil {
		return nil, err
	}
	return object{"handle": a.Handle, "did": a.DID, "didDoc": doc, "collections": collections, "handleIsCorrect": true}, nil
}

// recordView is a record as answers show it.
func recordView(snap *snapshot, rec record) (any, error) {
	value, err := rec.json.value(snap.bytes(rec.cid))
	if err != nil {
		return nil, err
	}
	return object{"uri": uri(snap.did, rec.path), "cid": rec.cid.String(), "value": value}, nil
}

// uri of a record.
func uri(did, path string) string { return "at://" + did + "/" + path }
