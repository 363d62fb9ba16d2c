package devpds

import "strings"

// applyWritesType is what the $types of com.atproto.repo.applyWrites begin with.
const applyWritesType = "com.atproto.repo.applyWrites#"

// applyWritesPoints counts create 3, update 2, delete 1.
func applyWritesPoints(r *request) int {
	list, _ := r.body["writes"].([]any)
	points := 0
	for _, v := range list {
		w, _ := v.(object)
		switch w["$type"] {
		case applyWritesType + "create":
			points += 3
		case applyWritesType + "update":
			points += 2
		default:
			points++
		}
	}
	return points
}

// applyWrites is com.atproto.repo.applyWrites: one commit of at most 200 writes.
// Only swapCommit guards it; a swapRecord of a write is ignored.
func (s *Server) applyWrites(r *request) (any, error) {
	list, ok := r.body["writes"].([]any)
	if !ok {
		return nil, invalidRequest("Missing required key %q at $", "writes")
	}
	if err := checkWrites(list); err != nil {
		return nil, err
	}
	t, err := s.writeTarget(r)
	if err != nil {
		return nil, err
	}
	if len(list) > maxWrites {
		return nil, invalidRequest("Too many writes. Max: 200")
	}
	writes, results := make([]write, 0, len(list)), make([]object, 0, len(list))
	for i, v := range list {
		w, result, err := s.prepareWrite(t, v.(object), place("writes", i))
		if err != nil {
			return nil, err
		}
		writes, results = append(writes, w), append(results, result)
	}
	repo := s.repository(t.account.DID)
	repo.mu.Lock()
	defer repo.mu.Unlock()
	snap, err := s.commit(r.ctx, repo, writes, t.swapCommit)
	if err != nil {
		return nil, err
	}
	return object{"commit": commitView(snap), "results": results}, nil
}

// checkWrites checks the shape of the writes, as the lexicon does.
func checkWrites(list []any) error {
	for i, v := range list {
		at := place("writes", i)
		w, ok := v.(object)
		if !ok {
			return invalidRequest("Expected object value type at %s", at)
		}
		kind, _ := w["$type"].(string)
		action, ok := strings.CutPrefix(kind, applyWritesType)
		if !ok || action != "create" && action != "update" && action != "delete" {
			return invalidRequest("Expected one of create, update or delete at %s.$type", at)
		}
		if _, ok := w["rkey"]; action == "create" && !ok {
			collection, err := textField(w, "collection", at)
			if err != nil {
				return err
			}
			if err := checkCollection(collection, at+".collection"); err != nil {
				return err
			}
		} else if _, _, err := recordFields(w, at); err != nil {
			return err
		}
		if _, ok := w["value"].(object); action != "delete" && !ok {
			return invalidRequest("Expected object value type at %s.value", at)
		}
	}
	return nil
}

// prepareWrite makes one write and its result.
func (s *Server) prepareWrite(t *target, v object, at string) (write, object, error) {
	action := strings.TrimPrefix(v["$type"].(string), applyWritesType)
	collection, _ := v["collection"].(string)
	rkey, _ := v["rkey"].(string)
	result := object{"$type": applyWritesType + action + "Result"}
	if action == "delete" {
		return write{action: action, path: pathOf(collection, rkey)}, result, nil
	}
	w, err := t.prepare(action, collection, or(rkey, s.newRKey()), v["value"], at+".value")
	if err != nil {
		return w, nil, err
	}
	result["uri"], result["cid"] = uri(t.account.DID, w.path), w.cid.String()
	if st := t.validationStatus(); st != "" {
		result["validationStatus"] = st
	}
	return w, result, nil
}
