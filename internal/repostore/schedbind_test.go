package repostore

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Bindings in schedules: object o is unbound from its record, bound to one again,
// with a uri or without; object f follows the record of o where that is free.

// isBinding are the kinds of operations that change a binding and nothing else.
var isBinding = map[string]bool{"follow": true, "unfollow": true, "unbind": true, "bind": true, "bind to": true}

// rebind changes the binding of o.
func (s *schedule) rebind(r *schedReplica, o *schedOp) (*widget, error) {
	return r.update(r.actx(o.id), "o", "", func(w *widget) error {
		switch bound := w.Spec.Record.Repo != ""; {
		case o.kind == "unbind":
			w.Spec.Record = widgetBinding{}
		case o.kind == "bind" && !bound:
			w.Spec.Record = widgetBinding{Repo: testRepo}
		case o.kind == "bind to" && !bound:
			w.Spec.Record = widgetBinding{Repo: testRepo, URI: recordURIOf("o")}
		}
		return nil
	})
}

// checkBindings: at rest a record is one object's, by its identity and by the
// stamp alike, or nobody's and detached, or it waits for a name that is taken.
func (s *schedule) checkBindings() {
	if s.dropped {
		return // a list has brought the views up, but nobody waits for one
	}
	shownBy := map[string][]string{}
	for _, name := range []string{"o", "p", "f"} {
		if obj, st := s.replicas[0].shown(name); obj != nil && st.bound() {
			shownBy[st.URI] = append(shownBy[st.URI], name)
		}
	}
	for _, name := range []string{"o", "p"} {
		key, uri := recordKey(name), recordURIOf(name)
		id := s.kept(fmt.Sprintf("/uids/%s/%s/%s/%s", widgetResource.Resource, s.ws, testDID, name))
		detached := s.kept(fmt.Sprintf("/detached/%s/%s/%s/%s", widgetResource.Resource, s.ws, testDID, name)) != nil
		by, rec := shownBy[uri], s.repo.value(key)
		taken, st := s.replicas[0].shown(name)
		switch {
		case len(by) > 1:
			s.violation("record %s is served by %v", name, by)
		case len(by) == 1 && id == nil:
			s.violation("record %s is served by %s and has no identity", name, by)
		case len(by) == 0 && id != nil:
			s.violation("record %s has the identity %s and no object", name, id)
		case len(by) == 1 && detached:
			s.violation("record %s is served by %s and detached", name, by)
		case len(by) == 0 && rec != nil && !detached && (taken == nil || st.URI == uri) && !s.full():
			s.violation("record %s is served by nobody, and is not detached", name)
		}
		if len(by) != 1 {
			continue
		}
		obj, st := s.replicas[0].shown(by[0])
		switch {
		case decoded(id).Name != by[0]:
			s.violation("record %s is served by %s, its identity is %s", name, by, id)
		case rec == nil && !st.orphaned():
			s.violation("record %s is gone and served by %s", name, by)
		case rec != nil && !st.orphaned() && valid(rec) && !declares(obj, rec):
			s.violation("record %s is served by %s, which shows something else", name, by)
		}
	}
}

func decoded(id []byte) *identity {
	d, err := decodeIdentity(id)
	if err != nil {
		return &identity{Name: err.Error()}
	}
	return d
}

// kept is what etcd holds at a key of this schedule's prefix, nil: nothing.
func (s *schedule) kept(key string) []byte {
	resp, err := s.etcd.Get(outside, s.prefix+key, clientv3.WithLimit(1))
	if err != nil || len(resp.Kvs) == 0 {
		return nil
	}
	return resp.Kvs[0].Value
}
